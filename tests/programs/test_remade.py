"""Answers and whole programs survive pickle and deep copy, though their types are made at run time."""

from __future__ import annotations

import copy
import multiprocessing
from operator import attrgetter

import dspy
import pytest
from abduce.data.parts import make_rag_parts
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, spec_named
from abduce.programs.rag.presets import build_rag, rag_spec
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.dense import DenseRetriever
from abduce.retrievers.milvus import MilvusRetriever
from abduce.signatures.hcqr import TentativeAnswer
from abduce.signatures.options import restricted
from abduce.signatures.replies import hypothesis_answer, readings_answer, table_answer, verdicts_answer


def sent(value):
    """A value after a way through a pipe between processes."""
    here, there = multiprocessing.Pipe()
    here.send(value)
    return there.recv()


def answers(schema, reply):
    spelled = dict.fromkeys(schema.names, "support")
    return [
        hypothesis_answer(schema)(**reply("debt", Family="debt")),
        readings_answer(2)(descriptions=["a", "b"]),
        verdicts_answer(schema, 2, "compact")(verdicts=["snxsnx", "xxxxxx"]),
        verdicts_answer(schema, 1, "spelled")(verdicts=[spelled]),
        table_answer(schema, (1,))(row_1=["snxsnx"]),
        restricted(TentativeAnswer, "answer_choice", ("A", "B"))(answer_choice="A"),
    ]


@pytest.mark.parametrize("number", range(6))
def test_an_answer_comes_back_from_a_pickle_and_a_copy(number, schema, reply):
    answer = answers(schema, reply)[number]
    for same in (sent(answer), copy.deepcopy(answer)):
        assert same == answer
        assert type(same) is type(answer)


def test_another_process_reads_an_answer_and_sends_it_back(schema, reply):
    answer = answers(schema, reply)[3]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        verdicts = pool.apply(attrgetter("verdicts"), (answer,))
    assert verdicts == answer.verdicts
    assert verdicts[0].Family == "support"


MODEL_ROWS = sorted(n for n, spec in PRESETS.items() if spec.needs_model and "precedents" not in n)


@pytest.mark.parametrize("name", [*MODEL_ROWS, "FHS-rules", "locus"])
def test_a_whole_program_is_saved_and_loaded(name, tiny, schema, table_fact, tmp_path):
    index = BM25Retriever(tiny)
    program = build_program(spec_named(name), Parts(lambda _: index, tiny, schema))
    index.search(["debt"], 3)  # an index that was built is not in the file
    program.save(str(tmp_path / "p"), save_program=True)
    loaded = dspy.load(str(tmp_path / "p"), allow_pickle=True)
    assert loaded.dump_state() == program.dump_state()
    inner = getattr(loaded, "program", loaded)
    retriever = getattr(inner, "program", inner).retriever
    found, wanted = retriever.search(["debt due"], 5)[0], index.search(["debt due"], 5)[0]
    assert (found.ids, found.scores.tolist()) == (wanted.ids, wanted.scores.tolist())


def test_a_loaded_program_answers_as_the_saved_one(
    tiny, schema, scripted, using, reply, table_fact, tmp_path
):
    lm = scripted(
        generator=lambda a: reply("debt due within one year", Family="debt"),
        verifier=lambda a: {"verdicts": ["ssssss"] * (a.field("candidates").count("\n") + 1)},
    )
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    program.save(str(tmp_path / "p"), save_program=True)
    loaded = dspy.load(str(tmp_path / "p"), allow_pickle=True)
    with using(lm):
        ours, theirs = program(fact=table_fact), loaded(fact=table_fact)
    assert ours.ranking.ids == theirs.ranking.ids
    assert ours.ranking.scores.tolist() == theirs.ranking.scores.tolist()


def test_a_question_program_is_saved_and_loaded(tmp_path):
    corpus = Corpus([Passage("p1", "Scurvy", "Vitamin C prevents scurvy.")])
    parts = make_rag_parts(corpus, {"kind": "bm25"}, {})
    for name in ("HCQR", "MAIN-RAG", "No-RAG (CoT)"):
        program = build_rag(rag_spec(name), parts)
        program.save(str(tmp_path / name[:4]), save_program=True)
        assert dspy.load(str(tmp_path / name[:4]), allow_pickle=True).dump_state() == program.dump_state()


class Counting:
    """An encoder that counts what it encodes."""

    pairs = False
    encoded = 0

    def encode_documents(self, texts, progress=False):
        import numpy as np

        type(self).encoded += len(texts)
        return np.eye(len(texts), 16, dtype=np.float32)

    def encode_queries(self, texts):
        import numpy as np

        return np.eye(len(texts), 16, dtype=np.float32)


def test_a_dense_index_encodes_nothing_again(tiny):
    pytest.importorskip("faiss")
    index = DenseRetriever(tiny, Counting(), engine="hnsw", hnsw_links=8)
    before = Counting.encoded
    loaded = sent(index)
    assert Counting.encoded == before
    assert loaded.search(["cash"], 3)[0].ids == index.search(["cash"], 3)[0].ids
    assert sent(loaded).w_cov == index.w_cov


def test_no_stored_retriever_holds_a_token(tiny, monkeypatch):
    from abduce.retrievers import milvus

    monkeypatch.setattr(milvus, "_connect", lambda uri, token: (uri, token))
    index = MilvusRetriever(tiny, None, "http://x", "secret-token", field="bm25")
    here, there = multiprocessing.Pipe()
    here.send(index)
    assert b"secret-token" not in there.recv_bytes()
    assert sent(index)._client == ("http://x", "")
