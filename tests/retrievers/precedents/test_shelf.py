"""What the votes of precedents may and may not rest on: years, companies, filings that are not told."""

import pytest
from abduce.retrievers.precedents.index import Precedents, Tagged, Weights
from made_facts import cell, mention


def fact(id_, year=None, filing="F1", company="ACME", text="<table></table>", context=None, row="Cash"):
    whose = {"filing": filing, "company": company, "taxonomy_year": year}
    return cell(id_, row, None, context_id=context or f"c{id_}", text=text, **whose)


QUERY = fact("q", filing="Q", company="NEW")
ONLY_RECENCY = {"table": Weights(recency=1.0)}


def shares(years, weights=ONLY_RECENCY):
    tagged = [Tagged(fact(f"p{i}", year), f"C{i}") for i, year in enumerate(years)]
    ranking = Precedents(tagged, weights=weights).rank(QUERY)
    return dict(zip(ranking.ids, ranking.scores, strict=True))


@pytest.mark.parametrize("unknown", [None, "", "FY24"])
def test_a_precedent_without_a_year_is_neither_new_nor_old(unknown):
    found = shares(["2024", unknown, "2022"])
    assert found["C1"] == pytest.approx(found["C0"])  # by hand: e^0, e^0, e^-2
    assert found["C2"] / found["C0"] == pytest.approx(2.718281828**-2, rel=1e-5)


def test_years_alone_are_counted_from_the_latest():
    assert shares([None, None]) == {"C0": 0.5, "C1": 0.5}


class TestOthers:
    def index(self, *companies):
        return Precedents(Tagged(fact(f"p{i}", company=c), f"C{i}") for i, c in enumerate(companies))

    def test_what_does_not_say_whose_it_is_may_be_the_companys(self):
        index = self.index("ACME", None, "", "BETA")
        assert index.nameless == 2
        assert index.rank(QUERY.model_copy(update={"company": "ACME"})).ids == ["C3"]
        assert sorted(index.rank(QUERY).ids) == ["C0", "C3"]
        assert len(index.rank(QUERY, scope="own")) == 4

    def test_a_fact_that_does_not_say_has_no_company_to_leave_out(self):
        nobody = QUERY.model_copy(update={"company": None})
        assert sorted(self.index("ACME", None).rank(nobody).ids) == ["C0", "C1"]

    def test_where_nobody_names_companies_they_play_no_part(self):
        index = self.index(None, None)
        assert len(index.rank(QUERY.model_copy(update={"company": None}))) == 2
        assert len(index.rank(QUERY)) == 0


class TestFilings:
    def test_the_same_text_is_the_same_filing_where_either_does_not_say(self):
        one = Tagged(fact("p", filing=None, text="<table>7</table>"), "A")
        other = Tagged(fact("o", filing=None, text="<table>8</table>"), "B")
        index = Precedents([one, other])
        same = fact("q", filing="Q", company="NEW", text="<table>7</table>")
        assert index.rank(same).ids == ["B"]
        known = Precedents([Tagged(fact("p", filing="F1", text="<table>7</table>"), "A"), other])
        assert known.rank(same.model_copy(update={"filing_id": None})).ids == ["B"]
        assert known.rank(same).ids[0] == "A"  # both say, and differ: last year's text again

    def test_a_fact_that_says_no_filing_is_of_the_one_that_has_its_table(self):
        mine = [fact("p", filing="F1", text="<table>7</table>"), fact("o", filing="F1", text="other")]
        index = Precedents([*(Tagged(f, "A") for f in mine), Tagged(fact("z", filing="F2"), "B")])
        query = fact("q", filing=None, company=None, text="<table><tr>7</tr></table>")
        assert index.rank(query).ids == ["B"]
        assert sorted(index.without(["F2"]).rank(query.model_copy(update={"filing_id": "Q"})).ids) == ["A"]

    @pytest.mark.parametrize(
        "copy",
        [
            "<table>\r\n<tr>\r\n  <td>Caf\u00e9 bar</td>\r\n  <td>7</td>\r\n</tr>\r\n</table>\r\n",
            "<table><tr><td>Cafe\u0301 bar</td><td>7</td></tr></table>",
            '<table class="x"><tr><td style="width: 9pt">Caf&#233;&nbsp;bar</td><td >7</td></tr></table>',
        ],
        ids=["white space", "NFD", "markup"],
    )
    def test_another_copy_of_a_table_is_the_same_filing(self, copy):
        text = "<table><tr><td>Caf\u00e9 bar</td><td>7</td></tr></table>"
        one = Tagged(fact("p", filing=None, text=copy), "A")
        other = Tagged(fact("o", filing=None, text=text.replace("7", "8")), "B")
        assert Precedents([one, other]).rank(fact("q", filing="Q", company="NEW", text=text)).ids == ["B"]

    def test_empty_texts_tell_nothing(self):
        index = Precedents([Tagged(fact("p", filing=None, text=""), "A")])
        assert index.rank(fact("q", filing="Q", company="NEW", text="")).ids == ["A"]
        assert index.rank(fact("q", filing=None, company="NEW", text="")).ids == ["A"]
        blank = Precedents([Tagged(fact("p", filing=None, text="<table> </table>"), "A")])
        assert blank.rank(fact("q", filing="Q", company="NEW", text="<table></table>")).ids == ["A"]


def test_windows_of_one_passage_are_each_compared_by_their_own_words():
    """Lines of a tags file share a context's id, but each shows another part of it."""

    def passage(id_, text, filing, context):
        return mention(id_, text, "5", context_id=context, filing=filing, company=filing)

    tagged = [
        Tagged(passage("1", "bonds due later 5 million", "F", "c"), "Debt"),
        Tagged(passage("2", "shops opened abroad 5 million", "F", "c"), "Shops"),
    ]
    index = Precedents(tagged, weights={"text": Weights(context=5.0)})
    for text, concept in (("bonds due later 5", "Debt"), ("shops opened abroad 5", "Shops")):
        assert index.rank(passage("q", text, "Q", "d")).ids[0] == concept
