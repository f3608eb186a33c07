from abduce.data.example import Example
from abduce.eval.experiments.subset import split_by_context, spread
from hypothesis import given
from hypothesis import strategies as st

MANY = [Example(f"e{i}", {}, "g", f"c{i // 10}") for i in range(50)]


def test_spread_takes_every_context_before_a_second_example() -> None:
    got = spread(MANY, 7)
    assert len({e.cluster for e in got[:5]}) == 5
    assert [e.id[-1] for e in got] == list("0000011")
    assert spread(MANY, 7) == got != spread(MANY, 7, seed=1)


def test_examples_without_a_context_stand_alone() -> None:
    alone = [Example(f"e{i}", {}, "g") for i in range(4)]
    assert sorted(e.id for e in spread(alone, 9)) == ["e0", "e1", "e2", "e3"]
    assert [len(part) for part in split_by_context(alone)] == [2, 2]
    assert spread([], 3) == []


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.floats(0.1, 0.9), st.integers(1, 50))
def test_no_context_is_in_both_parts_and_nothing_is_lost(contexts: list[int], share: float, n: int) -> None:
    examples = [Example(f"e{i}", {}, "g", f"c{c}") for i, c in enumerate(contexts)]
    first, second = split_by_context(examples, share)
    assert not {e.cluster for e in first} & {e.cluster for e in second}
    assert len(first) + len(second) == len(examples)
    assert first
    assert second or len(set(contexts)) == 1
    chosen = spread(examples, n)
    assert len(chosen) == min(n, len(examples)) == len({e.id for e in chosen})
