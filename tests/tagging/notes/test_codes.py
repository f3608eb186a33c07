"""Tagging the mentions of a note: places, codes, evidence, exclusion notes, categories, bad input."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from pathlib import Path

import pytest
from abduce.cli.pages.note import show
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Fact, SourceContext
from abduce.tagging.notes.coder import Coder, code_mentions
from abduce.tagging.notes.codes import COLUMNS, code_note
from abduce.tagging.notes.note import read_mentions, read_note
from made_note import TEXT, coder, concept, write
from rich.console import Console

UNTOLD = "and no word of the mention tells them apart"

CASE = "Seen was\na man of caf\u00e9s.\nHis tabes gravis was old."


@pytest.fixture(scope="module")
def program() -> Coder:
    return coder("locus")


def tagged(folder: Path, mentions: str, program: Coder, top: int = 10) -> list[dict[str, str]]:
    note, file = write(folder, mentions)
    out = folder / "tags.csv"
    code_note(note, file, lambda facts: program, program.constants, top).to_csv(out)
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    return rows


def test_a_mention_gets_its_code_place_evidence_and_alternatives(tmp_path: Path, program: Coder) -> None:
    (row,) = tagged(tmp_path, "id,mention\nx,classical cholera\n", program)
    assert (row["id"], row["code"]) == ("x", "A00.0")
    assert TEXT[int(row["start"]) : int(row["end"])] == row["mention"] == "classical cholera"
    assert row["evidence"] == "Classical cholera"
    assert row["alternatives"].split("; ")[0] == "A00.9"


def test_the_words_of_a_mention_are_counted_and_the_first_place_is_taken(
    tmp_path: Path, program: Coder
) -> None:
    (row,) = tagged(tmp_path, "mention\ncholera\n", program)
    assert (int(row["start"]), row["occurrences"]) == (TEXT.index("cholera"), "2")
    (row,) = tagged(
        tmp_path, "mention\nFEVER\n", program
    )  # in any case where it is not written so; no "fevers"
    assert (row["mention"], row["occurrences"]) == ("fever", "2")


def test_a_span_means_the_same_as_its_words(tmp_path: Path, program: Coder) -> None:
    start = TEXT.index("classical cholera")
    (by_span,) = tagged(tmp_path, f"start,end\n{start},{start + 17}\n", program)
    (by_words,) = tagged(tmp_path, "mention\nclassical cholera\n", program)
    assert by_span == by_words


@pytest.mark.parametrize("between", ["\n", "\r\n", "  ", "\u00a0", " \n\t"])
def test_a_mention_may_go_over_a_line_break(tmp_path: Path, program: Coder, between: str) -> None:
    text = f"He was a carrier{between}of{between}cholera; a carrier of cholera; a carrier ofcholera."
    file = tmp_path / "m.csv"
    file.write_text("mention\ncarrier of cholera\nCarrier  of cholera\n")
    note = tmp_path / "note.txt"
    note.write_bytes(text.encode())
    context = read_note(note)
    mentions = read_mentions(file, context, program.constants)
    for mention in mentions:
        start, end = mention.fact.mention_start, mention.fact.mention_end
        assert context.text[start:end] == mention.fact.value == f"carrier{between}of{between}cholera"
        assert mention.occurrences == 2
    assert [c.code for c in code_mentions(mentions, program)] == ["Z22.1", "Z22.1"]
    end = text.index(";")
    file.write_text(f"mention,start,end\ncarrier of cholera,9,{end}\n")  # words and span agree
    (mention,) = read_mentions(file, context, program.constants)
    assert (mention.fact.mention_start, mention.fact.mention_end, mention.occurrences) == (9, end, 2)


def test_an_exclusion_note_that_names_another_code_of_the_note_is_a_warning(
    tmp_path: Path, program: Coder
) -> None:
    rows = tagged(tmp_path, "mention\nclassical cholera\ncarrier of cholera\nfever\n", program)
    assert [r["code"] for r in rows] == ["A00.0", "Z22.1", "R50.9"]
    assert rows[0]["warnings"] == "A00.0 and Z22.1 (m2): Excludes1 at A00: carrier of cholera (Z22.1)"
    assert rows[1]["warnings"] == rows[2]["warnings"] == ""


def test_a_chapters_notes_count_excludes1_as_a_warning_and_excludes2_as_a_remark(
    tmp_path: Path, program: Coder
) -> None:
    rows = tagged(
        tmp_path,
        "id,mention,code\na,classical cholera,\nb,fever,\nc,Fever,P81.9\nd,Fever,r50.9\n",
        program,
    )
    assert [r["code"] for r in rows] == ["A00.0", "R50.9", "P81.9", "R50.9"]
    line = "R50.9 and P81.9 (c): Excludes1 at chapter 18: conditions of the newborn (P04-P96)"
    assert [r["warnings"] for r in rows] == ["", line, "", line]
    line = "A00.0 and R50.9 (b, d): Excludes2 at chapter 1: symptoms and signs (R00-R94)"
    assert rows[0]["remarks"] == line


def test_every_note_of_a_code_from_its_chapter_down_is_in_the_csv(tmp_path: Path, program: Coder) -> None:
    (row,) = tagged(tmp_path, "mention\nclassical cholera\n", program)
    assert row["excludes1"].split(" | ") == [
        "chapter 1: localized infections - see body system-related chapters",
        "A00: carrier of cholera (Z22.1)",
    ]
    assert row["excludes2"].split(" | ") == [
        "chapter 1: symptoms and signs (R00-R94)",
        "chapter 1: influenza (J00-J22)",
        "A00-A09: fever of another kind (R51-R52)",
    ]
    assert row["warnings"] == row["remarks"] == ""


def test_an_excludes1_note_that_names_an_alternative_is_told_apart(tmp_path: Path, program: Coder) -> None:
    rows = tagged(tmp_path, "mention,code\nclassical cholera,\ncarrier of cholera,A00.9\n", program)
    assert "Z22.1" in rows[0]["alternatives"]  # its own alternative is no conflict
    assert rows[0]["near"] == ""
    rows = tagged(tmp_path, "mention,code\nFever,A00.0\ncarrier of cholera,A00.9\n", program, top=3)
    assert rows[1]["alternatives"].split("; ")[0] == "Z22.1"
    assert rows[0]["near"] == "A00.0 and Z22.1 (m2): Excludes1 at A00: carrier of cholera (Z22.1)"
    assert rows[0]["warnings"] == ""


def test_a_mention_without_a_known_word_gets_no_code(tmp_path: Path, program: Coder) -> None:
    rows = tagged(tmp_path, "mention,code\nman,\nman,A00\nman,A00.9\nman,R50\n", program)
    for row in rows[:2]:
        assert not any(row[name] for name in ("code", "label", "score", "margin", "warnings"))
    assert rows[0]["alternatives"] == ""
    assert rows[1]["asked"] == f"A00: a category with 2 billable codes, {UNTOLD}"
    assert rows[1]["alternatives"] == "A00.0; A00.9"
    assert (rows[2]["code"], rows[2]["asked"]) == (
        "A00.9",
        "A00.9: billable, not tested: no word of the mention is known",
    )
    assert rows[3]["code"] == "R50.9"  # the category's only code
    note, file = write(tmp_path, "mention\nman\n")
    stream = io.StringIO()
    show(code_note(note, file, lambda facts: program, program.constants, 3), Console(file=stream, width=160))
    assert "No code: no word of the mention is known to icd-test" in stream.getvalue()
    assert "A00" not in stream.getvalue()


def test_a_precedents_code_has_it_as_evidence_and_no_alternatives_that_nothing_supports(
    tmp_path: Path,
) -> None:
    def before(id_: str, value: str, code: str) -> Tagged:
        text = f"Seen was {value} then."
        context = SourceContext(context_id=id_, text=text)
        start = text.index(value)
        span = {"mention_start": start, "mention_end": start + len(value)}
        return Tagged(Fact(fact_id=id_, value=value, context=context, modality="text", **span), code)

    known = [before("old-1", "tabes gravis", "R50.9"), before("old-2", "plain pox", "Z22.1")]
    note, file = write(tmp_path, "mention,code\ntabes gravis,\ntabes gravis,A00\n", "A tabes gravis.")
    voted = coder("precedents + locus", tagged=known)
    first, second = code_mentions(read_mentions(file, read_note(note), voted.constants), voted)
    assert first.code == "R50.9"
    assert first.evidence == "coded so before: Seen was tabes gravis then. (old-1)"
    assert {h.id for h in first.hits} <= {"R50.9", "Z22.1"}  # the locus query tells no code apart
    assert (second.code, [h.id for h in second.hits]) == ("", ["A00.0", "A00.9"])


@pytest.mark.parametrize(
    "copy",
    [
        CASE,
        CASE + "\n",
        "\ufeff" + CASE.replace("\n", "\r\n"),
        unicodedata.normalize("NFD", CASE),
        CASE.replace("\n", "  \n\n").replace(" was", "\u00a0was"),
    ],
    ids=["itself", "newline", "CRLF", "NFD", "white space"],
)
def test_no_copy_of_a_note_is_a_precedent_of_it(tmp_path: Path, copy: str) -> None:
    start = CASE.index("tabes gravis")
    fact = Fact(
        fact_id="own", value="tabes gravis", context=SourceContext(context_id="case-1", text=CASE),
        modality="text", mention_start=start, mention_end=start + 12,
    )  # fmt: skip
    voted = coder("precedents + locus", tagged=[Tagged(fact, "Z22.1")])
    note, file = write(tmp_path, "mention\ntabes gravis\n")
    note.write_bytes(copy.encode())
    (coded,) = code_mentions(read_mentions(file, read_note(note), voted.constants), voted)
    assert coded.code == ""
    note.write_text(CASE.replace("Seen", "Found"))  # another note: it may vote
    (coded,) = code_mentions(read_mentions(file, read_note(note), voted.constants), voted)
    assert coded.code == "Z22.1"


def test_a_category_is_coded_among_its_billable_children(tmp_path: Path, program: Coder) -> None:
    (row,) = tagged(tmp_path, "mention,code\nfever,A00\n", program)
    assert row["asked"] == f"A00: a category with 2 billable codes, {UNTOLD}"
    assert row["alternatives"] == "A00.0; A00.9"
    (row,) = tagged(tmp_path, "mention,code\ncarrier of cholera,A00\n", program)
    assert row["asked"] == "A00: a category with 2 billable codes, ranked among these alone"
    assert (row["code"], row["alternatives"]) == ("A00.9", "A00.0")


DEEP = Taxonomy(
    [
        *(concept(f"B{i:02d}.{j}", f"Acute fever of kind {i} {j}") for i in range(30) for j in range(10)),
        concept("C11.1", "Alcoholic cardiac rheumatic disease and many other words of a long label"),
        concept("C11.2", "Acute and many other words of a label that is longer than any of the others above"),
        concept("C11.3", "Words that have nothing in common"),
    ],
    "deep",
    ("id", "label", "definition"),
)


@pytest.mark.parametrize("name", ["locus", "FHS-rules"])
def test_a_categorys_codes_are_ranked_also_where_200_others_are_better(tmp_path: Path, name: str) -> None:
    deep = coder(name, DEEP)
    text = "Acute fever in an alcoholic."
    note, file = write(tmp_path, "mention,code\nAcute fever,C11\n", text)
    mentions = read_mentions(file, read_note(note), {"datatype": "diagnosis"})
    whole = deep.program(fact=mentions[0].fact).ranking
    assert not [id_ for id_ in whole.ids if id_.startswith("C11")]
    (coded,) = code_mentions(mentions, deep)
    assert coded.hits[0].id == "C11.2"
    assert sorted(h.id for h in coded.hits) == ["C11.1", "C11.2", "C11.3"]


def test_the_scores_of_a_categorys_codes_are_those_of_the_whole_ranking(tmp_path: Path) -> None:
    deep = coder("locus", DEEP)
    note, file = write(tmp_path, "mention,code\nAcute fever,C11\n", "Acute fever in an alcoholic.")
    (coded,) = code_mentions(read_mentions(file, read_note(note), deep.constants), deep)
    (whole,) = BM25Retriever(DEEP).search(["Acute fever"], len(DEEP), [Where("diagnosis")])
    known = {h.id: h.score for h in whole if h.id.startswith("C11") and h.score}
    assert known == {"C11.2": coded.hits[0].score}
    assert [h.id for h in coded.hits] == ["C11.2", "C11.1", "C11.3"]
    assert all(math.isnan(h.score) for h in coded.hits[1:])  # no word of theirs is in the mention


def test_a_code_of_the_users_own_that_is_not_ranked_has_no_score(tmp_path: Path) -> None:
    (row,) = tagged(tmp_path, "mention,code\nfever,C11.3\n", coder("locus", DEEP))
    assert (row["code"], row["score"], row["margin"]) == ("C11.3", "", "")
    assert row["asked"] == "C11.3: billable, not among the first 200"


@pytest.mark.parametrize("written", ["A00", "a00", "A00.-", "A00-", "A00."])
def test_a_category_may_be_written_as_the_tabular_list_prints_it(
    tmp_path: Path, program: Coder, written: str
) -> None:
    (row,) = tagged(tmp_path, f"mention,code\ncarrier of cholera,{written}\n", program)
    assert row["asked"] == "A00: a category with 2 billable codes, ranked among these alone"


def test_a_code_of_the_users_own_is_kept_and_its_rank_told(tmp_path: Path, program: Coder) -> None:
    (row,) = tagged(tmp_path, "mention,code\nclassical cholera,a009\n", program)
    assert (row["code"], row["asked"]) == ("A00.9", "A00.9: billable, rank 2")
    assert row["alternatives"].split("; ")[0] == "A00.0"


def test_the_page_shows_the_warning(tmp_path: Path, program: Coder) -> None:
    note, file = write(tmp_path, "mention\nclassical cholera\ncarrier of cholera\n")
    stream = io.StringIO()
    show(code_note(note, file, lambda facts: program, program.constants, 3), Console(file=stream, width=160))
    page = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert "Warning: A00.0 and Z22.1 (m2): Excludes1 at A00: carrier of cholera (Z22.1)" in page
    assert "Evidence: Classical cholera" in page
    assert page[-1] == "2 mentions, 2 coded, 1 with warnings"


def test_the_page_counts_the_notes_that_it_does_not_show(tmp_path: Path, program: Coder) -> None:
    note, file = write(tmp_path, "mention\nclassical cholera\nfever\nclassical cholera\n")
    stream = io.StringIO()
    show(code_note(note, file, lambda facts: program, program.constants, 3), Console(file=stream, width=200))
    page = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert "Both may stand: R50.9: Excludes2 at chapter 1" in page
    chapter = "Excludes1 at chapter 1: localized infections - see body system-related chapters"
    assert f"Check: {chapter}" in page
    rest = "... and 2 more exclusion notes (1 Excludes2 of chapter, 1 Excludes2 of section): --out FILE.csv"
    assert rest in page
    assert "Notes: those of A00.0 stand at m1" in page
    assert sum(chapter in line for line in page) == 1
