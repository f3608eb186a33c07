"""The user's own tables: headings, rows of text, and [data] of an experiment file."""

import json

import pytest
from abduce.data.columns import Columns
from abduce.data.own import OwnData
from abduce.data.text_rows import is_text_rows, read_text_rows
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.optimize.optimize import optimize_row
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.tagging.tagger import Tagger
from openai_stub import Stub

CATEGORIES = "code,name,parent\nA1,Running shoes,Footwear\nA2,Rain jackets,Clothing\n"
ITEMS = "sku,title,extra,category\ns1,Trail running shoe,blue,A1\ns2,qqq zzqx,,A2\n"
ROW = '[[row]]\nname = "locus"\nprogram = "locus"\n'


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "categories.csv").write_text(CATEGORIES)
    (tmp_path / "items.csv").write_text(ITEMS)
    return tmp_path


def test_code_and_name_are_known_by_themselves_and_others_by_their_headings(shop):
    taxonomy = Taxonomy.load(shop / "categories.csv")
    assert [(c.id, c.label, c.metadata) for c in taxonomy] == [
        ("A1", "Running shoes", {"parent": "Footwear"}),
        ("A2", "Rain jackets", {"parent": "Clothing"}),
    ]
    (shop / "other.csv").write_text("Nr;Bezeichnung\nA1;Laufschuhe\n")
    given = {"id": "Nr", "label": "Bezeichnung"}
    assert Taxonomy.load(shop / "other.csv", columns=given)["A1"].label == "Laufschuhe"


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("Nr,name\n1,x\n", {"id": "No"}, "no column 'No' for id; there are Nr, name"),
        ("Nr,Text\n1,x\n", {}, "which column is the id"),
        ("id,Text\n1,x\n", {}, "which column is the label"),
        ("code,name\n1,x\n1,y\n", {}, "duplicate id '1'"),
        ("code,name\n1,\n", {}, "is missing|is empty"),
    ],
)
def test_a_taxonomy_that_cannot_be_told_is_one_line(tmp_path, text, columns, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        Taxonomy.load(tmp_path / "t.csv", columns=columns)
    assert "\n" not in str(caught.value)


def test_rows_of_text_are_facts(shop):
    columns = Columns({"fact_id": "sku", "gold": "category"}, ("title", "extra"))
    first, second = read_text_rows(shop / "items.csv", columns)
    fact = first.inputs["fact"]
    assert (first.id, first.gold, fact.value) == ("s1", "A1", "Trail running shoe\nblue")
    assert fact.context.text[fact.mention_start : fact.mention_end] == fact.value
    assert second.inputs["fact"].value == "qqq zzqx"
    lines = [{"id": "a", "text": "x"}, {"text": "y"}]
    (shop / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert is_text_rows(shop / "t.jsonl", Columns())
    assert [e.id for e in read_text_rows(shop / "t.jsonl", Columns())] == ["a", "2"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"text": ("titel",)}, "no column 'titel'; there are sku, title, extra, category"),
        ({"text": ("title",), "names": {"gold": "kind"}}, "no column 'kind'"),
        ({"text": ("extra",), "names": {"gold": "category"}}, "items.csv:3: field 'extra': is empty"),
        ({"text": ("title",), "names": {"fact_id": "extra", "gold": "extra"}}, "is missing"),
    ],
)
def test_rows_that_cannot_be_read_are_one_line(shop, columns, words):
    with pytest.raises(InputError, match=words):
        list(read_text_rows(shop / "items.csv", Columns(**columns), need_gold=True))


@pytest.mark.parametrize("pairs", [["id"], ["nr=x"], ["id="], ["id=a", "id=b"]])
def test_headings_that_say_nothing_are_refused(pairs):
    with pytest.raises(InputError, match="column"):
        Columns.parse(pairs)


def test_nothing_in_common_gives_nothing_also_where_tagged_rows_vote(shop):
    (shop / "known.csv").write_text("sku,title,category\nk1,winter anorak,A2\n")
    for precedents in ((), [shop / "known.csv"]):
        tagger = Tagger(
            shop / "categories.csv",
            precedents=precedents,
            columns={"fact_id": "sku", "gold": "category"},
            text_columns=["title"],
        )
        tags = tagger.tag(shop / "items.csv")
        assert [(t.fact.fact_id, t.concept) for t in tags] == [("s1", "A1"), ("s2", "")]
        assert not any("company" in note for note in tags.notes)


def test_stems_are_a_setting(shop):
    (shop / "few.csv").write_text("id,text\nx,waterproofed for a runner's jog\n")
    (shop / "labels.csv").write_text("id,label\nL1,Waterproofing\nL2,Joggers\n")

    def first(**settings):
        tagger = Tagger(shop / "labels.csv", retriever={"kind": "bm25", **settings}, text_columns=["text"])
        return tagger.tag(shop / "few.csv")[0].concept

    assert (first(), first(tokenizer="stem")) == ("", "L1")


def experiment(shop, data):
    path = shop / "mine.toml"
    path.write_text(f"[data]\n{data}\n{ROW}")
    return path


OWN = 'facts = "items.csv"\ntext_columns = ["title"]\ncolumns = { fact_id = "sku", gold = "category" }\n'


def test_an_experiment_judges_the_users_own_facts(shop, monkeypatch):
    out = shop / "run"
    path = experiment(shop, f'{OWN}taxonomy = "categories.csv"')
    monkeypatch.chdir("/")
    run = evaluate(path, out=out)
    assert run.rows[0].values["R@1"].mean() == 0.5
    again = evaluate(out / "resolved.toml")
    assert again.rows[0].values["R@1"].mean() == 0.5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (f'{OWN}taxonomy = "nowhere.csv"', "nowhere.csv"),
        (f'{OWN}taxonomy = "categories.csv"\nschema = "nowhere.toml"', "nowhere.toml"),
        (f'{OWN}taxonomy = "items.csv"', "which column is the id|duplicate|is missing"),
        ('facts = "items.csv"\ntaxonomy = "categories.csv"\ntext_columns = ["title"]', "gold"),
        ('facts = "items.csv"', "taxonomy"),
        ('facts = "items.csv"\ntaxonomy = "categories.csv"\nkind = 1', "kind"),
    ],
)
def test_own_data_that_cannot_be_read_is_one_line(shop, data, words):
    with pytest.raises(InputError, match=words) as caught:
        evaluate(experiment(shop, data))
    assert "\n" not in str(caught.value)


def test_it_is_said_whose_facts_they_are(shop):
    run = evaluate(experiment(shop, f'{OWN}taxonomy = "categories.csv"'))
    assert run.data == f"categories all, 2 facts, from {shop / 'items.csv'}"


def test_a_row_is_compiled_on_the_users_own_facts(shop):
    """Never on those of the data folder, nor on a split that is not named."""
    data = f'{OWN}taxonomy = "categories.csv"'
    path = experiment(shop, data)
    path.write_text(path.read_text().replace('"locus"', '"FHS"'))
    with pytest.raises(InputError, match="no split 'dev'; there are all"):
        optimize_row(str(path), "FHS", shop / "fhs.json")
    path.write_text(path.read_text().replace('"items.csv"', '{ dev = "items.csv", test = "none.csv" }'))
    with pytest.raises(InputError, match="nothing is tuned on the split 'test'"):
        optimize_row(str(path), "FHS", shop / "fhs.json", split="test")
    with Stub() as stub:
        lm = {"kind": "vllm", "base_url": stub.url, "tries": 1}
        done = optimize_row(str(path), "FHS", shop / "fhs.json", lm=lm, check=0)
    assert (done.noun, done.examples, done.rollouts.made) == ("facts", 2, 2)
    assert any("Trail running shoe" in str(body) for body in stub.bodies)


def test_splits_are_chosen_by_name():
    own = OwnData(facts={"dev": "a.csv", "test": "b.csv"}, taxonomy="t.csv")
    assert (own.split(None, "test"), own.split("dev", "test"), own.split(None, "other")) == (
        "test",
        "dev",
        "dev",
    )
    with pytest.raises(InputError, match="no split 'train'; there are dev, test"):
        own.split("train", "test")
