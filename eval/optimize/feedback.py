"""What went wrong with one prediction, in words for a person or a reflecting optimizer.

The text names the query that missed, the dimension that does not fit, and the verdict that lowered the gold
answer. It uses only the trace; with profiles, hypotheses are also compared with the gold concept's
categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...signatures.types import Hypothesis, Judgement
from ..metrics import Gold, grades_of, local_name, rank_of

if TYPE_CHECKING:
    from ...programs.profiles import Profiles
    from ...programs.rag.context import Passages
    from ...programs.trace import Trace

_LONGEST = 300


def taxonomy_feedback(
    ids: Sequence[str],
    gold: Gold,
    trace: Trace | None = None,
    profiles: Profiles | None = None,
    selected: Sequence[str] | None = None,
) -> str:
    """The gold concept's rank and the reasons.

    Args:
        ids: the method's ranking, best first.
        gold: the right concept.
        trace: the prediction's trace.
        profiles: features of the taxonomy's concepts, for labels and for dimensions that do not fit.
        selected: the ranking after a selector.
    """
    rank = rank_of(ids, gold)
    name = ", ".join(_named(g, profiles) for g in grades_of(gold))
    lines = [f"The right concept is {name}."]
    if rank == 1:
        lines.append("It is ranked first.")
    elif rank is None:
        lines.append("It is not in the ranking: no query retrieved it." if ids else "Nothing was ranked.")
    else:
        lines.append(f"It is at rank {rank} of {len(ids)}; ahead of it stands {_named(ids[0], profiles)}.")
    if trace is not None:
        lines += _queries(trace, gold)
        lines += _hypotheses(trace, gold, profiles)
        lines += _verdicts(trace, gold, profiles)
        dropped = trace.counters["dropped_replies"]
        if dropped:
            lines.append(f"{dropped} replies did not have the required form and were dropped.")
    if selected:
        right = rank_of(selected, gold, 1) is not None
        chosen = "the right concept" if right else _named(selected[0], profiles)
        lines.append(f"Selector: put {chosen} first.")
    return "\n".join(lines)


def _named(id_: str, profiles: Profiles | None) -> str:
    if profiles is None or id_ not in profiles.taxonomy:
        return id_
    return f"{id_} ({profiles.taxonomy[id_].label})"


def _queries(trace: Trace, gold: Gold) -> Iterator[str]:
    for query, ranking in zip(trace.queries, trace.rankings, strict=False):
        rank = rank_of(list(ranking.ids), gold)
        found = f"returned it at rank {rank}" if rank else f"did not return it among {len(ranking.ids)}"
        of = "" if query.hypothesis is None else f" of hypothesis {query.hypothesis}"
        yield f"The {query.form} query{of} {found}: {_short(query.text)!r}"


def _hypotheses(trace: Trace, gold: Gold, profiles: Profiles | None) -> Iterator[str]:
    for j, hypothesis in enumerate(trace.hypotheses):
        if not hypothesis.values:
            yield f"Hypothesis {j} resolves no dimension."
            continue
        if profiles is None:
            continue
        for concept in grades_of(gold):
            if concept in profiles.taxonomy:
                yield from _misfits(j, hypothesis, concept, profiles)


def _misfits(j: int, hypothesis: Hypothesis, concept: str, profiles: Profiles) -> Iterator[str]:
    schema, features = profiles.schema, profiles[concept]
    names = [d.name for d in schema.dimensions if d.controlled]
    held = dict(zip(names, features.profile, strict=True))
    [judged] = schema.judge(hypothesis, [features])
    for name, judgement in judged.items():
        if judgement is Judgement.NO_SUPPORT:
            own = ", ".join(held.get(name, ())) or "nothing of that kind in its label or definition"
            yield f"Hypothesis {j}: {name} = {hypothesis.values[name]!r} does not fit; the concept has {own}."
    missing = [n for n in names if judged[n] is Judgement.ABSTAIN and held[n]]
    if missing:
        words = "; ".join(f"{n}: {', '.join(held[n])}" for n in missing)
        yield f"Hypothesis {j} leaves unresolved what the concept has: {words}."


def _verdicts(trace: Trace, gold: Gold, profiles: Profiles | None) -> Iterator[str]:
    right = grades_of(gold)
    for judged in trace.judged:
        where = f"Verifier, hypothesis {judged.hypothesis}"
        if judged.verdicts is None:
            yield f"{where}: the call failed."
            continue
        verdict = next((v for v in judged.verdicts if local_name(v.concept_id) in right), None)
        if verdict is None:
            yield f"{where}: the right concept is not in the window of {len(judged.window)}."
            continue
        denied = [d for d, v in verdict.judgements.items() if v is Judgement.NO_SUPPORT]
        own = _support(verdict.judgements.values())
        yield f"{where}: support {own} for the right concept" + (
            f"; it was denied on {', '.join(denied)}." if denied else "."
        )
        ahead = [v for v in judged.verdicts if v is not verdict and _share(v) > _share(verdict)]
        if ahead:
            best = max(ahead, key=_share)
            text = _support(best.judgements.values())
            yield f"{where}: {_named(best.concept_id, profiles)} got more support ({text})."


def _support(judgements: Any) -> str:
    voices = [j for j in judgements if j is not Judgement.ABSTAIN]
    return f"{sum(j is Judgement.SUPPORT for j in voices)} of {len(voices)}"


def _share(verdict: Any) -> float:
    voices = [j for j in verdict.judgements.values() if j is not Judgement.ABSTAIN]
    return sum(j is Judgement.SUPPORT for j in voices) / len(voices) if voices else 0.0


def question_feedback(prediction: Any, gold: str, passages: Passages | None = None) -> str:
    """The chosen option, and the query that found a passage with the right answer's words.

    Args:
        prediction: a RAG program's prediction.
        gold: the right option's key.
        passages: texts by id; without them, only counts are given.
    """
    options = prediction.get("options") or {}
    right, chosen = options.get(gold, gold), prediction.get("answer") or ""
    lines = [f"The right answer is {gold}: {right}."]
    if chosen == gold:
        lines.append("It was chosen.")
    else:
        text = f"{chosen}: {options.get(chosen, '')}" if chosen else "nothing (no valid answer came)"
        lines.append(f"Chosen was {text}.")
    trace = prediction.get("trace")
    if trace is None:
        return "\n".join(lines)
    plan = trace.notes.get("plan")
    if plan:
        agrees = plan.get("hypothesis_key") == gold
        lines.append(f"The working hypothesis {'was right' if agrees else 'was wrong'}: "
                     f"{_short(str(plan.get('working_hypothesis', '')))!r}")  # fmt: skip
    for query, ranking in zip(trace.queries, trace.rankings, strict=False):
        text = f"Query {query.form} returned {len(ranking.ids)} passages"
        if passages is not None:
            held = sum(_contains(passages[i].content, str(right)) for i in ranking.ids)
            text += f", {held} of them with every word of the right answer"
        lines.append(f"{text}: {_short(query.text)!r}")
    left = trace.notes.get("left_out")
    if left:
        lines.append(f"{len(left)} passages did not fit into the window.")
    return "\n".join(lines)


def _contains(text: str, answer: str) -> bool:
    from ...signatures.tokenize import tok_set

    wanted = tok_set(answer)
    return bool(wanted) and wanted <= tok_set(text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
