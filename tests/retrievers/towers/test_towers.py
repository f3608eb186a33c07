"""Two towers: what a locus says, how they are trained, and what they keep."""

import made_facts
import numpy as np
import pytest
from abduce.retrievers.towers.features import blocks_of, header_blocks, mention_blocks
from abduce.retrievers.towers.fit import Adam, Lesson, TowerSettings, train_towers
from abduce.retrievers.towers.model import Quantised, Towers, best
from abduce.retrievers.towers.rows import place_of, rows_of
from abduce.retrievers.towers.vocabulary import Vocabulary
from abduce.signatures.types import Fact, SourceContext

TABLE = """<table><tr><td></td><td>2024</td></tr><tr><td>Current assets:</td><td></td></tr>
<tr><td>Cash</td><td>5</td></tr><tr><td>Receivables</td><td>7</td></tr><tr><td>Total</td><td>12</td></tr>
<tr><td>2025</td><td>1</td></tr><tr><td>2026</td><td>2</td></tr></table>"""


def cell(row, value, column="December 31, 2024", index=1, text=TABLE, above="Our balance sheet"):
    return made_facts.cell("f", row, column, value=value, row_index=index, text=text, above=above)


def test_a_row_is_told_by_its_label_and_value():
    assert [row.label for row in rows_of(TABLE)][:3] == ["2024", "Current assets:", "Cash"]
    place = place_of(cell("Current assets: | Receivables", "7", index=3))
    assert (place.above, place.below) == ("Cash", "Total")


def test_years_alone_are_counted_from_the_first_of_their_block():
    assert place_of(cell("2025", "1")).year == 1
    assert place_of(cell("2026", "2")).year == 2
    assert place_of(cell("Cash", "5")).year == 0


def test_a_cell_says_header_chain_column_table_neighbours_and_kind():
    found = {f for block in blocks_of(cell("Current assets: | Cash", "(5)")) for f in block}
    assert {"h:cash", "h=cash", "c:current", "c=current asset"} <= found
    assert {"p:sheet", "t:receivable", "b:receivable"} <= found
    assert {"v:monetaryItemType", "v:digits 1", "v:negative"} <= found


def test_a_table_without_markup_and_a_mention_without_a_span_have_features_too():
    assert any(blocks_of(cell("Cash", "5", text="nothing")))
    context = SourceContext(context_id="c", text="It owed 5 million.")
    assert blocks_of(Fact(fact_id="f", value="5", context=context, modality="text"))


def test_words_beside_a_number_are_told_by_their_place():
    text = "The company repaid term loans of 5 million dollars in May."
    at = text.index("5")
    context = SourceContext(context_id="c", text=text)
    fact = Fact(
        fact_id="f", value="5", context=context, modality="text", mention_start=at, mention_end=at + 1
    )
    found = {f for block in blocks_of(fact) for f in block}
    assert {"<0loan", "<1term", ">0million", "n:loan", "h:loan", "v:text"} <= found


def test_mentions_have_words_pairs_and_pieces():
    words, pairs, pieces = mention_blocks("Acute pain")
    assert words == ["acute", "pain"]
    assert pairs == ["acute_pain"]
    assert {"~<ac", "~ain>", "~cute>"} <= set(pieces)


def test_a_bag_has_length_one_in_each_block_and_passes_over_what_is_unknown():
    vocabulary = Vocabulary.of([[["a", "b"], ["c"]], [["a", "b"], ["d"]]], least=2)
    assert vocabulary.features == ["a", "b"]
    columns, weights = vocabulary.bag([["a", "b", "x"], ["c"]])
    assert columns.tolist() == [0, 1]
    assert np.sum(weights**2) == pytest.approx(1.0)


def test_adam_is_adam_by_hand():
    adam = Adam(np.zeros((2, 1), dtype=np.float32))
    for gradient in (1.0, -2.0):
        adam.step(np.array([1]), np.array([[gradient]], dtype=np.float32), 0.1)
    mean, square, value = 0.0, 0.0, 0.0
    for step, gradient in enumerate((1.0, -2.0), 1):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        value -= 0.1 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    assert adam.values[0, 0] == 0.0
    assert adam.values[1, 0] == pytest.approx(value, rel=1e-3)


def lesson():
    labels = ["net sales", "goodwill", "cash on hand", "deferred tax asset", "deferred tax liability"]
    loci = ["turnover", "goodwill item", "liquid funds", "tax asset to come"]
    bags = [header_blocks(t, "m") for t in loci for _ in range(8)]
    words = [[t.split()] for t in labels]
    pseudo = [header_blocks(t, "m") for t in labels]
    vocabulary = Vocabulary.of([*bags, *pseudo], 1)
    spoken = Vocabulary.of(words, 1)
    concepts = np.repeat(np.arange(4), 8)
    made = Lesson(
        vocabulary.matrix(bags),
        concepts,
        spoken.matrix(words),
        np.zeros(5, dtype=np.int64),
        vocabulary.matrix(pseudo),
        np.arange(5),
    )
    return made, vocabulary


SETTINGS = TowerSettings(dimensions=16, epochs=30, batch=16, rate=0.02)


def towers(settings=SETTINGS):
    made, vocabulary = lesson()
    trained = train_towers(made, settings)
    return Towers(
        vocabulary.features,
        Quantised.of(trained.features),
        list("abcde"),
        Quantised.of(trained.concepts),
        trained.free,
        ["m"] * 5,
    )


def test_towers_learn_their_loci_and_reach_a_concept_without_facts_by_its_label():
    made = towers()
    for text, id_ in (("turnover", 0), ("liquid funds", 2), ("deferred tax liability", 4)):
        rows, scores = made.probabilities(header_blocks(text, "m"), "m")
        assert int(rows[np.argmax(scores)]) == id_
        assert np.exp(scores).sum() == pytest.approx(1.0)
    assert made.seen.tolist() == [True, True, True, True, False]


def test_the_same_seed_gives_the_same_towers_and_another_seed_others():
    first, again = towers(), towers()
    other = towers(TowerSettings(dimensions=16, epochs=30, batch=16, rate=0.02, seed=1))
    assert np.array_equal(first.features.values, again.features.values)
    assert not np.array_equal(first.features.values, other.features.values)


def test_progress_ends_at_one():
    seen = []
    train_towers(lesson()[0], SETTINGS, seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_eight_bits_keep_a_vector_to_half_a_step():
    vectors = np.random.default_rng(0).standard_normal((50, 32)).astype(np.float32)
    vectors[3] = 0
    kept = Quantised.of(vectors)
    steps = np.abs(vectors).max(axis=1) / 127
    assert (np.abs(kept[np.arange(50)] - vectors) <= steps[:, None] / 2 + 1e-6).all()
    assert kept.values.dtype == np.int8


def test_an_unknown_datatype_searches_all_and_nothing_known_ties_all():
    made = towers()
    rows, scores = made.probabilities([["never seen"]], "no such type")
    assert len(rows) == 5
    assert np.allclose(scores, np.log(1 / 5))


def test_best_breaks_ties_by_place():
    assert best(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist() == [1, 2, 3]
    assert best(np.zeros(0), 3).tolist() == []
