"""Companies are found by their names without comparing all with all."""

from abduce.retrievers.precedents import loci
from abduce.retrievers.precedents.companies import Companies
from abduce.retrievers.precedents.loci import company_key, same_company
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = st.lists(
    st.builds(
        lambda the, stem, form: the + stem + form,
        st.sampled_from(["", "The ", "THE"]),
        st.sampled_from(["A", "GE", "Appl", "Apple", "Boein", "Boeing", "Theta", "TheBo", "Generale", "1"]),
        st.sampled_from(["", " Inc", " Co", " Company", " Corporation", " Ltd", " SE", " Xy", " Inc Co"]),
    ),
    max_size=12,
)


def scanned(names):
    """The numbers by comparing each name with every one before it."""
    numbers = {}
    for name in names:
        key = company_key(name)
        same = (n for k, n in numbers.items() if k and key and same_company(k, key))
        numbers.setdefault(key, next(same, len(numbers)))
    return [numbers[company_key(name)] for name in names]


@settings(max_examples=400)
@given(NAMES)
def test_companies_are_those_that_comparing_all_with_all_finds(names):
    companies = Companies()
    assert [companies.code(name) for name in names] == scanned(names)
    assert [companies.find(name) for name in names] == scanned(names)


def test_what_is_not_there_is_found_once_it_is():
    companies = Companies()
    assert companies.find("Apple") == companies.find("") == companies.find("Apple") == -1
    assert companies.code("Apple Inc.") == companies.find("Apple")
    assert companies.code("Banana") == 1


def test_companies_are_not_compared_with_one_another(monkeypatch):
    """Twice as many names cost twice as many comparisons, not four times."""
    compared = []
    told = loci.same_company
    monkeypatch.setattr(loci, "same_company", lambda a, b: compared.append(a) or told(a, b))
    counts = []
    for n in (200, 400):
        companies = Companies()
        compared.clear()
        for i in range(n):
            companies.code(f"{i:06d} Inc")
        counts.append(len(compared))
    assert counts[1] == 2 * counts[0] <= 10 * 400


def test_two_names_can_be_told_to_be_one_company():
    companies = Companies()
    companies.unite("NVDA", "NVIDIA CORP")
    companies.unite("Nvidia Holding", "NVIDIA CORP")
    assert len({companies.code(n) for n in ("NVDA", "NVIDIA CORP", "NVIDIA", "Nvidia Holding")}) == 1
    assert companies.find("AMD") == -1
    assert companies.code("AMD") != companies.code("NVDA")
