"""Another copy of a filing is told by its facts, whoever it says it is of."""

import pytest
from abduce.retrievers.precedents.index import Tagged
from abduce.tagging import precedents
from abduce.tagging.precedents import PrecedentSource
from made_facts import cell


def fact(value, filing="ours", company="Acme", text="", row="Row", id_=None, context=None):
    return cell(
        *(id_ or f"{filing}-{value}-{row}", f"{row} {value}"),
        value=str(value),
        filing=filing,
        company=company,
        context_id=context or f"{filing}-{company}-{text}",
        text=text,
    )


def votes(ours, tagged, monkeypatch, scope="own"):
    """Which precedents may vote for the first of our facts (their ids), and what the user is told."""
    notes = []
    files = tagged if isinstance(tagged, dict) else {"a": tagged}
    monkeypatch.setattr(
        precedents,
        "read_precedents",
        lambda path, *_: iter([Tagged(f, f"C{i}") for i, f in enumerate(files[str(path)])]),
    )
    source = PrecedentSource(list(files), on_note=notes.append).for_facts(ours)
    near = source().vote(ours[0], scope).nearest(999, distinct=False)
    return {n.fact_id for n in near}, notes


def numbers(n, start=1):
    return range(start, start + n)


@pytest.mark.parametrize(
    ("n", "shared", "same"),
    [
        (30, 24, True),
        (30, 23, False),
        (20, 16, True),
        (20, 15, False),
        (19, 18, False),
        (19, 19, True),
        (3, 3, True),
        (2, 2, False),
        (4, 3, False),
    ],
)
@pytest.mark.parametrize("company", ["Acme", "Somebody Else", None])
def test_what_makes_two_filings_the_same(n, shared, same, company, monkeypatch):
    """80% of 20 or more facts; all of 3 to 19; two tell nothing. The company plays no part."""
    ours = [fact(i) for i in numbers(n)]
    theirs = [fact(i, "theirs", company) for i in [*numbers(shared), *numbers(n - shared, 1000)]]
    left, _ = votes(ours, theirs, monkeypatch)
    assert left == (set() if same else {f.fact_id for f in theirs})


def test_the_smaller_of_two_counts(monkeypatch):
    large, small = [fact(i) for i in numbers(200)], numbers(20, 50)
    assert not votes(large, [fact(i, "theirs") for i in small], monkeypatch)[0]
    assert not votes([fact(i) for i in small], [fact(i, "theirs") for i in numbers(200)], monkeypatch)[0]


def test_of_one_or_two_facts_those_of_the_same_text_are_left_out(monkeypatch):
    ours = [fact(1, text="<td>Sales</td><td>1</td>")]
    copy = fact(1, "theirs", text="<td>sales".title() + "</td> <td>1</td>")
    others = [fact(1, "theirs", text="last year", row="Row", id_="other"), fact(2, "theirs")]
    left, _ = votes(ours, [copy, *others], monkeypatch)
    assert left == {"other", others[1].fact_id}


def test_two_filings_that_say_what_they_are_are_that(monkeypatch):
    ours = [fact(i, "ACME 10-K 2024-12-31") for i in numbers(30)]
    amended = [fact(i, "ACME 10-K 2024-12-31 amended") for i in numbers(30)]
    assert len(votes(ours, amended, monkeypatch)[0]) == 30


class TestNoFiling:
    """Precedents that say no filing."""

    @pytest.mark.parametrize("n", [5, 30])
    def test_the_first_facts_company_does_not_judge_the_rest(self, n, monkeypatch):
        ours = [fact(i) for i in numbers(n)]
        of_others = [fact(i, None, "Zeta", "z") for i in numbers(50, 1000)]
        copy = [fact(i, None, "ACME INC", "other words") for i in numbers(n)]
        left, _ = votes(ours, of_others + copy, monkeypatch)
        assert left == {f.fact_id for f in of_others}

    def test_a_context_that_is_the_same_goes_as_a_whole(self, monkeypatch):
        ours = [fact(i) for i in numbers(30)]
        others = [fact(i, None, "Zeta", "z") for i in numbers(60, 1000)]
        copy = [fact(i, None, text="c") for i in [*numbers(24), *numbers(6, 2000)]]
        assert votes(ours, others + copy, monkeypatch)[0] == {f.fact_id for f in others}

    def test_a_file_that_is_mostly_the_same_goes_as_a_whole(self, monkeypatch):
        ours = [fact(i) for i in numbers(30)]
        lines = [fact(i, None, context=f"line {i}") for i in [*numbers(24), *numbers(6, 2000)]]
        other = [fact(i, None, context=f"other {i}") for i in numbers(9, 3000)]
        left, _ = votes(ours, {"tags": lines, "more": other}, monkeypatch)
        assert left == {f.fact_id for f in other}

    def test_two_filings_in_one_file_keep_apart(self, monkeypatch):
        """Facts of the second filing are not taken for the first one's, which could then vote for it."""
        second = [fact(i, "second") for i in numbers(21, 500)]
        first = [fact(i, "first") for i in numbers(100)]
        lines = [fact(i, None, context=f"line {i}") for i in [*numbers(21, 500), *numbers(100)]]
        assert not {f"None-{i}-Row" for i in numbers(21, 500)} & votes(second + first, lines, monkeypatch)[0]

    def test_the_same_id_and_value_are_the_same_fact(self, monkeypatch):
        ours = [fact(i, row="A | B") for i in numbers(25)]
        trimmed = [
            fact(i, None, row="quite another", id_=f.fact_id, context=f"line {i}")
            for i, f in zip(numbers(25), ours, strict=True)
        ]
        assert not votes(ours, trimmed, monkeypatch)[0]


class TestNotes:
    def test_copies_are_told(self, monkeypatch):
        ours = [fact(i) for i in numbers(30)]
        _, notes = votes(ours, [fact(i, "F7") for i in numbers(29)], monkeypatch)
        assert notes == ["29 precedents are of a filing that is tagged itself (F7): left out"]
        _, notes = votes(ours, [fact(i, "ours") for i in numbers(1)], monkeypatch)
        assert notes == ["1 precedent is of a filing that is tagged itself (ours): left out"]
        assert votes(ours, [fact(i, "F7") for i in numbers(30, 100)], monkeypatch)[1] == []

    def test_another_name_of_the_company_is_told_and_left_out_by_others(self, monkeypatch):
        ours = [fact(i, company="NVDA") for i in numbers(30)]
        twin = [fact(i, "F7", "NVIDIA CORP") for i in numbers(30)]
        older = [fact(i, "F6", "Nvidia") for i in numbers(30, 100)]
        beta = [fact(i, "F5", "Beta") for i in numbers(30, 200)]
        left, notes = votes(ours, twin + older + beta, monkeypatch, "others")
        assert left == {f.fact_id for f in beta}
        assert "NVIDIA CORP is taken as another name of NVDA" in notes
        assert left | {f.fact_id for f in older} == votes(ours, twin + older + beta, monkeypatch)[0]


class TestTime:
    """Scope own: the company's earlier filings."""

    def of(self, kind, end, company="Acme Inc."):
        return [
            fact(i, f"ACMEINC {kind} {end}", company) for i in numbers(5, int(end[:7].replace("-", "")) * 100)
        ]

    def test_later_filings_of_the_company_do_not_vote(self, monkeypatch):
        ours = self.of("10-K", "2024-12-31")
        earlier, later = self.of("10-K", "2023-12-31"), self.of("10-K", "2025-12-31", "ACME")
        amended = self.of("10-K", "2024-12-31 amended")
        others = [fact(i, "BETACO 10-K 2025-12-31", "Beta Co") for i in numbers(5)]
        silent = [fact(i, "F7") for i in numbers(5, 50)]
        left, notes = votes(ours, earlier + later + amended + others + silent, monkeypatch)
        assert left == {f.fact_id for f in earlier + amended + others + silent}
        assert notes == ["5 precedents are of the company's filings of later periods: left out"]

    def test_facts_of_several_filings_have_each_their_time(self, monkeypatch):
        first, second = self.of("10-Q", "2024-03-31"), self.of("10-Q", "2024-09-30")
        between = self.of("10-Q", "2024-06-30")
        assert not votes(first + second, between, monkeypatch)[0]
        assert len(votes(second + first, between, monkeypatch)[0]) == 5
