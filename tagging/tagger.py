"""Tag a document, facts or a note: the concept of each fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:  # what is imported when it is needed, so that asking for the class costs nothing
    from ..data.domains import Domain
    from ..data.folder import DataFolder
    from ..lm.models import Models
    from ..programs.spec import Spec
    from ..retrievers.base import Ranking, Retriever
    from ..retrievers.taxonomy import Taxonomy
    from ..signatures.dimensions import DimensionSchema
    from ..signatures.types import Fact
    from .calibration import Calibration
    from .inputs import Given, What
    from .notes.coder import Coder
    from .notes.codes import Codes
    from .row import Scope
    from .setup import Tell
    from .tag import Tag
    from .tag_options import TagOptions
    from .tagging import Progress, Tagging
    from .tags import Tags
    from .trail import Trail


class Tagger:
    """Tags facts with the concepts of a taxonomy.

    It is a context manager; leaving it closes connections to models and stops a model server that it started
    (as :meth:`close` does). Safe to use from several threads.

    Args:
        taxonomy: a taxonomy, its name, a JSONL or CSV file (id, label), or an index folder.
        program: the method: a row's name (``locus``, ``FHS-rules``, ...), the name of your own class
            (``package.module:Class``), or a :class:`~abduce.programs.spec.Spec`. None: the best available one
            for the facts, which a note of the tags names.
        precedents: files of already-tagged facts: facts (.jsonl), a tagged filing (.htm), a reviewed
            tags.csv. If no program is named, the bundled facts also vote. If one is named and no files are
            given, it uses those of the data folder, or else the bundled ones.
        scope: whose already-tagged facts the program may use. ``others``: never those of the facts' own
            company; ``own``: its earlier filings too. None: as the program defines; without a named program,
            ``own`` for a company that has any.
        schema: the dimension schema: a bundled name, a TOML file, or an object.
        retriever: the first stage: an object, or its settings (``{"kind": "dense"}``); None: BM25, or the
            index of the taxonomy's folder.
        lm: the models, for a program that calls one: an ``[lm]`` table, a TOML file with one, or a
            ``dspy.LM``; None: the model of the caller's DSPy context.
        data: the data folder; None: ``$ABDUCE_DATA``, else the bundled data.
        calibration: maps scores to confidence; None: the bundled one of the program.
        company: the company of facts that name none.
        cache: store the replies of models and use them again.
        concurrency: facts in parallel if a model is called, at least 1.
        each_fact: run the program for each fact, not once for cells of a row that differ only in dates.
        model: the folder of a trained model (``abduce train``), for the trained rows; None: the bundled one,
            if it is for this taxonomy.
        columns: names of the columns in your tables: ``id``, ``label``, ``definition`` and ``datatype`` of
            the taxonomy; ``fact_id``, ``gold`` and ``company`` of rows of text.
        text_columns: the columns with the text to tag, in tables whose rows are texts.

    Raises:
        InputError: an unknown taxonomy, program, schema or data folder; settings that do not fit together.
    """

    def __init__(
        self,
        taxonomy: str | Path | Taxonomy = "us-gaap-2024",
        program: str | Spec | None = None,
        precedents: str | Path | Sequence[str | Path] = (),
        scope: Scope | None = None,
        schema: str | Path | DimensionSchema | None = None,
        retriever: Retriever | Mapping[str, Any] | None = None,
        lm: Mapping[str, Any] | str | Path | Any | None = None,
        data: str | Path | None = None,
        calibration: Calibration | str | Path | None = None,
        company: str | None = None,
        cache: bool = True,
        concurrency: int = 32,
        each_fact: bool = False,
        model: str | Path | None = None,
        columns: Mapping[str, str] | None = None,
        text_columns: Sequence[str] = (),
    ) -> None:
        from ..data.columns import Columns
        from ..data.folder import DataFolder
        from ..retrievers.errors import InputError
        from .setup import Setup

        if concurrency < 1:
            raise InputError(f"must be at least 1, not {concurrency}", field="concurrency")
        files = [Path(p) for p in ([precedents] if isinstance(precedents, str | Path) else precedents)]
        folder = DataFolder.find(data)
        headings = Columns(columns or {}, text_columns)
        self._setup = Setup(
            taxonomy, program, files, scope, schema, retriever, folder, calibration, company, model, headings
        )
        named = self._setup.named
        needed = named is not None and named.spec.needs_model
        self.each_fact = each_fact
        self.calls_a_model = needed
        self.concurrency = concurrency if needed else 1
        self._closing = ExitStack()
        self._models: Models | None = None
        self._lm = self._opened(
            lm, cache, f"the program {named.name!r}" if named is not None and needed else None
        )

    def _opened(self, lm: Any, cache: bool, needed: str | None) -> Any:
        """The caller's own model, or None; opens an ``[lm]`` table where the program calls a model."""
        from ..lm.options import lm_table
        from ..lm.use import open_models

        if isinstance(lm, str | Path):
            lm = lm_table(Path(lm))
        if lm is None and needed:
            import dspy

            if dspy.settings.lm is not None:
                return None
        if lm is None or isinstance(lm, Mapping):
            self._models = self._closing.enter_context(open_models(lm or {}, needed, cache=cache))
            return None
        return lm if needed else None

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy of the tags."""
        return self._setup.taxonomy

    @property
    def program(self) -> str | None:
        """The name of the row that tags; None: the best available one for the facts."""
        return None if self._setup.named is None else self._setup.named.name

    @property
    def domain(self) -> Domain:
        """The taxonomy's domain."""
        return self._setup.domain

    @property
    def folder(self) -> DataFolder:
        """The data folder."""
        return self._setup.folder

    @property
    def splits(self) -> bool:
        """Whether facts of different source contexts can be tagged separately with the same result: a named
        program that uses neither already-tagged facts nor a trained model.
        """
        return self._setup.splits

    def __enter__(self) -> Tagger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections to models; stop a server that was started."""
        self._closing.close()

    @property
    def cost(self) -> str:
        """The cost of its model calls so far, in one line; empty if there were none."""
        from ..lm.use import meter_line

        return "" if self._models is None else meter_line(self._models.meter)

    @contextmanager
    def _in_context(self) -> Iterator[None]:
        """With the models in the DSPy context."""
        if self._models is not None:
            with self._models.context():
                yield
        elif self._lm is not None:
            import dspy

            with dspy.context(lm=self._lm):
                yield
        else:
            yield

    def tag(
        self, what: What | None = None, progress: Progress | None = None, **how: Unpack[TagOptions]
    ) -> Tags:
        """Tag every fact.

        If the program fails on a fact, its tag has an ``error`` and an empty ranking; the others continue.

        Args:
            what: a document (HTML, inline XBRL, Markdown, CSV, Excel), a file of facts (JSONL, CSV), a
                document that was read, or facts; None: the first split of the data folder.
            progress: called with the number of facts done and the number of all facts.
            contexts: source contexts of a facts file as JSONL, if they are neither inline nor in a file next
                to it.
            skip_bad: skip bad facts of a file; they are in ``skipped``.
            gold: the result will be scored: raise at once if it cannot be.
            traces: keep what the program did with each tag.
            decided: a person's decisions on some facts, which also help similar facts: concepts by fact id,
                or a file (a review's journal, reviewed tags as .csv or .xlsx, an export of Label Studio).
            company: the company of these facts; replaces the tagger's ``company``.

        Raises:
            InputError: an error in the input, or one that affects every fact (no model, no precedents).
        """
        tagging = self.start(what, progress, **how)
        return tagging.whole(tagging)

    def start(
        self,
        what: What | None = None,
        progress: Progress | None = None,
        *,
        contexts: str | Path | None = None,
        skip_bad: bool = False,
        gold: bool = False,
        traces: bool = False,
        decided: str | Path | Mapping[str, str] | None = None,
        company: str | None = None,
    ) -> Tagging:
        """Prepare to tag; the tags are computed one by one as the result is iterated over.

        Arguments and errors are the same as for :meth:`tag`.
        """
        from .decided import none_decided, read_decided
        from .log import log_note
        from .tagging import Tagging
        from .tags import Tags

        notes: list[str] = []

        def tell(line: str) -> None:
            notes.append(line)
            log_note(line)

        company = company or self._setup.company
        given = self._read(what, contexts, skip_bad, tell, company)
        known = {fact.fact_id for fact in given.facts} if decided is not None else set()
        decisions = None if decided is None else read_decided(decided, known, self.taxonomy)
        if decisions is not None and (line := none_decided(decisions)):
            tell(line)
        if gold:
            given.golds(self.taxonomy)
        ready = self._setup.ready(given.facts, tell, company=company)
        calibration = self._setup.calibration(ready.row, tell)
        thresholds = self._setup.thresholds(ready.row, tell) if calibration is None else calibration.accepts
        of = Tags(
            (),
            self.taxonomy,
            ready.row.name,
            ready.parts.serializer,
            given.name,
            thresholds=thresholds,
            searched=self._setup.numbers,
            unlabelled=given.unlabelled,
            of_document=given.document is not None,
            notes=tuple(notes),
            skipped=given.skipped,
        )
        return Tagging(
            of,
            given.facts,
            partial(given.golds, self.taxonomy),
            ready,
            partial(self._tag, calibration, traces),
            self._in_context,
            self.concurrency,
            self.each_fact,
            progress,
            decisions,
        )

    def explain(
        self,
        what: What | None,
        fact_id: str,
        *,
        contexts: str | Path | None = None,
        skip_bad: bool = False,
    ) -> Trail:
        """How one fact is tagged: the program's whole trace.

        Args:
            what, contexts, skip_bad: as for :meth:`tag`.
            fact_id: the fact.

        Raises:
            InputError: as for :meth:`tag`, or there is no such fact.
        """
        from ..retrievers.errors import InputError
        from .log import log_note
        from .trail import VOTERS, Trail

        given = self._read(what, contexts, skip_bad, log_note, self._setup.company)
        fact = next((f for f in given.facts if f.fact_id == fact_id), None)
        if fact is None:
            raise InputError(f"no fact {fact_id!r}", file=given.file, field="fact_id")
        ready = self._setup.ready(given.facts, log_note, shown=VOTERS, company=self._setup.company)
        gold = given.gold.get(fact_id, "")
        with self._in_context():
            return Trail(fact, ready.program(fact)(fact=fact), ready.parts, ready.row.name, gold)

    def code_note(self, note: str | Path, mentions: str | Path, top: int = 10) -> Codes:
        """Code the mentions of a note, with the exclusion notes that apply.

        Args:
            note: a text file.
            mentions: CSV, TSV or JSONL with ``mention``, or ``start`` and ``end``; ``id`` and ``code`` are
                optional.
            top: how many codes of a mention count as its alternatives, at least 1.

        Raises:
            InputError: what is wrong with the note, the mentions or a code.
        """
        from .log import log_note
        from .notes.codes import code_note

        notes: list[str] = []

        def ready(facts: Sequence[Fact]) -> Coder:
            return self._setup.coder(facts, notes.append)

        with self._in_context():
            codes = code_note(note, mentions, ready, self._setup.domain.fact_constants, top)
        for line in notes:
            log_note(line)
        return codes

    def search(self, query: str, top: int = 10, datatype: str | None = None) -> Ranking:
        """The concepts that match a text, best first. BM25 finds only concepts that share a word with it.

        Args:
            query: any words.
            top: how many concepts, at least 1.
            datatype: only concepts of this datatype; None: all.

        Raises:
            InputError: the query is empty, or no concept has the datatype.
        """
        from ..retrievers.base import Where
        from ..retrievers.errors import InputError

        if not query.strip():
            raise InputError("is empty", field="query")
        if datatype is not None and datatype not in self.taxonomy.datatypes:
            known = ", ".join(sorted(self.taxonomy.datatypes)[:10]) or "none"
            raise InputError(
                f"no concept of {self.taxonomy.name} has the datatype {datatype!r}; there are {known}",
                field="datatype",
            )
        where = None if datatype is None else [Where(datatype=datatype)]
        found = self._setup.searched.search([query], top, where)[0]
        words = found.components.get("bm25")
        return found if words is None else found.take([i for i in range(len(found)) if words[i] > 0])

    def _read(
        self, what: What | None, contexts: str | Path | None, skip_bad: bool, tell: Tell, company: str | None
    ) -> Given:
        from .inputs import read_given, year_note

        setup = self._setup
        given = read_given(
            what,
            setup.folder,
            setup.domain,
            company=company,
            contexts=None if contexts is None else Path(contexts),
            skip_bad=skip_bad,
            columns=setup.columns,
        )
        year = year_note(given, setup.taxonomy)
        for line in (*given.notes, *([year] if year else [])):
            tell(line)
        return given

    def _tag(
        self, calibration: Calibration | None, traces: bool, fact: Fact, prediction: Any, error: str
    ) -> Tag:
        from ..retrievers.base import Ranking
        from .calibration import confidence_of
        from .evidence import evidence_of
        from .tag import Tag

        if prediction is None:
            return Tag(fact, Ranking.of([]), error=error)
        ranking: Ranking = prediction.ranking
        sure = confidence_of(prediction, fact, calibration)
        label = self.taxonomy[ranking.ids[0]].label if len(ranking) else ""
        evidence = evidence_of(fact, prediction, self.taxonomy)
        trace, lost = prediction.trace if traces else None, prediction.trace.lost_replies
        return Tag(fact, ranking, label, evidence, sure, trace=trace, lost=lost)
