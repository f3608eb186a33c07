"""Strict JSON answers: what reaches the wire, what is forgiven, what is refused."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import dspy
import pytest
from abduce.programs.adapter import StrictJSON, answer_format
from abduce.programs.receipt import Receipt
from abduce.programs.reply import json_object, json_objects
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, Field


class Inner(BaseModel):
    verdicts: list[Annotated[str, Field(pattern="^[snx]{2}$")]] = Field(min_length=2, max_length=2)
    mood: Annotated[Literal["yes", "no"], BeforeValidator(lambda v: str(v).strip().lower())] = "yes"


class Ask(dspy.Signature):
    """Do it."""

    context: str = dspy.InputField()
    locus: str = dspy.InputField()
    answer: Inner = dspy.OutputField()
    note: Annotated[str, Field(max_length=10)] = dspy.OutputField()


GOOD = {"answer": {"verdicts": ["sn", "xx"], "mood": "yes"}, "note": "ok"}


def test_every_constraint_reaches_the_wire_and_every_object_is_closed():
    schema = answer_format("Ask", {"answer": Inner, "note": Annotated[str, Field(max_length=10)]})
    assert schema["json_schema"]["strict"] is True
    inner = schema["json_schema"]["schema"]["$defs"]["Inner"]
    assert inner == {
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[snx]{2}$"},
                "minItems": 2,
                "maxItems": 2,
            },
            "mood": {"type": "string", "enum": ["yes", "no"]},
        },
        "required": ["verdicts", "mood"],
        "additionalProperties": False,
    }
    outer = schema["json_schema"]["schema"]
    assert outer["required"] == ["answer", "note"]
    assert outer["properties"]["note"] == {"type": "string", "maxLength": 10}
    assert outer["additionalProperties"] is False


def test_a_property_called_title_is_not_mistaken_for_a_schemas_title():
    class Titled(BaseModel):
        title: str
        default: int

    schema = answer_format("T", {"answer": Titled})["json_schema"]["schema"]
    assert set(schema["$defs"]["Titled"]["properties"]) == {"title", "default"}


def test_an_answer_with_free_keys_has_no_strict_schema():
    with pytest.raises(TypeError, match="declare its fields"):
        answer_format("T", {"answer": dict[str, int]})


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD),
        "```json\n" + json.dumps(GOOD) + "\n```",
        "Here it is: " + json.dumps(GOOD) + " I hope this helps.",
        "<think>\n\n</think>\n\n" + json.dumps(GOOD),
        '<think>maybe {"note": "no"}</think>' + json.dumps(GOOD),
        "the template opened the block</think>" + json.dumps(GOOD),
        "[THINK]a draft: " + json.dumps({**GOOD, "note": "no"}) + "[/THINK]" + json.dumps(GOOD),
        "<|channel|>analysis<|message|>"
        + json.dumps({**GOOD, "note": "no"})
        + "<|end|><|start|>assistant<|channel|>final<|message|>"
        + json.dumps(GOOD),
        "◁think▷" + json.dumps({**GOOD, "note": "no"}) + "◁/think▷" + json.dumps(GOOD),
        "The set {A, B} was considered.\n\n```json\n" + json.dumps(GOOD) + "\n```",
        json.dumps({**GOOD, "note": "a draft"}) + " No: " + json.dumps(GOOD),
        json.dumps(GOOD) + " (not " + json.dumps({"note": 5}) + ")",
        json.dumps(GOOD) + "\n" * 500,
        json.dumps(json.dumps(GOOD)),
        json.dumps([GOOD]),
        json.dumps({"AskAnswer": GOOD}),
        json.dumps({**GOOD, "extra": 1}),
        json.dumps({**GOOD, "answer": {**GOOD["answer"], "confidence": 0.9}}),
        json.dumps({**GOOD, "answer": json.dumps(GOOD["answer"])}),
        json.dumps({**GOOD, "answer": {"verdicts": ["sn", "xx"], "mood": " YES"}}),
    ],
)
def test_harmless_variants_are_the_same_answer(reply):
    fields = StrictJSON().parse(Ask, reply)
    assert fields["answer"].verdicts == ["sn", "xx"]
    assert fields["answer"].mood == "yes"
    assert fields["note"] == "ok"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty"),
        ("I cannot say.", "no JSON object"),
        (json.dumps(GOOD)[:-3], "not complete JSON"),
        ("<think>I wonder " + json.dumps(GOOD), "middle of its thinking"),
        (json.dumps({"note": "ok"}), "no field answer"),
        (json.dumps({**GOOD, "note": "longer than ten"}), "note: "),
        (json.dumps({**GOOD, "note": None}), "note: "),
        (json.dumps({**GOOD, "answer": {"verdicts": ["sn"], "mood": "yes"}}), "answer.verdicts"),
        (json.dumps({**GOOD, "answer": {"verdicts": ["sn", "qq"], "mood": "yes"}}), "answer.verdicts.1"),
        (json.dumps({**GOOD, "answer": {"verdicts": ["sn", "xx"], "mood": "perhaps"}}), "answer.mood"),
        (json.dumps({**GOOD, "note": "<think>a"}), "thinking"),
        (json.dumps({**GOOD, "note": "a</think>"}), "thinking"),
    ],
)
def test_the_rest_is_refused_and_says_why(reply, why):
    with pytest.raises(AdapterParseError, match=why):
        StrictJSON().parse(Ask, reply)


@pytest.mark.parametrize(
    ("reply", "counts"),
    [
        (json.dumps(GOOD) + "\n" * 500, True),
        ("```json\n" + json.dumps(GOOD) + "\n```\n", True),
        (json.dumps(GOOD) + "\nThis is because the", True),
        ("Perhaps it is " + json.dumps(GOOD) + ", or else it", False),
        ("<think>Perhaps</think> " + json.dumps(GOOD) + "\nThis is", True),
        (json.dumps({**GOOD, "note": "no"}) + " No: " + json.dumps(GOOD)[:-2], True),
    ],
)
def test_a_complete_object_counts_though_the_reply_was_cut_after_it(reply, counts):
    receipt = Receipt()
    receipt.replied(reply, "length")
    with dspy.context(receipt=receipt):
        if counts:
            assert StrictJSON().parse(Ask, reply)["answer"].mood == "yes"
        else:
            with pytest.raises(AdapterParseError, match="cut off"):
                StrictJSON().parse(Ask, reply)


@given(st.text(alphabet=st.sampled_from('{}[]",:\\<>/think1aA ')), st.integers(0, 3))
def test_no_reply_is_too_strange(text, times):
    reply = text * times
    try:
        found = json_objects(reply)
    except ValueError:
        return
    assert all(isinstance(one.value, dict) for one in found)


@pytest.mark.parametrize(
    "reply",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "{" * 200_000,
        '{"' * 100_000,
        '{"\\' * 100_000,
        '{"a": ' + "9" * 5000 + "}",
        '{"a": NaN}',
        "<think>" * 50_000,
    ],
)
def test_replies_that_are_meant_to_harm_are_no_answers(reply):
    with pytest.raises(AdapterParseError):
        StrictJSON().parse(Ask, reply)


@given(cut=st.integers(0, len(json.dumps(GOOD)) - 1))
def test_no_cut_reply_is_ever_an_answer(cut):
    with pytest.raises(AdapterParseError):
        StrictJSON().parse(Ask, json.dumps(GOOD)[:cut])


@given(thought=st.text(), answer=st.dictionaries(st.text(), st.integers(), max_size=3))
def test_what_was_thought_is_never_read(thought, answer):
    thought = thought.replace("</think>", "")
    written = json.dumps(answer)
    assert json_object(f"<think>{thought}</think>{written}") == answer


def test_the_prompt_by_hand():
    class Tiny(dspy.Signature):
        """Say it."""

        table: str = dspy.InputField(desc="a table")
        locus: str = dspy.InputField(desc="a place in it")
        answer: str = dspy.OutputField(desc="a word")

    system, user = StrictJSON().format(Tiny, [], {"locus": "here", "table": "1 2 3"})
    assert system == {
        "role": "system",
        "content": (
            "Your input fields are:\n1. `table` (str): a table\n2. `locus` (str): a place in it\n"
            "Your output fields are:\n1. `answer` (str): a word\n\n"
            "The input has this structure:\n\n[[ ## table ## ]]\n{table}\n\n[[ ## locus ## ]]\n{locus}\n\n"
            "The output is one JSON object of this schema:\n\n"
            '{"additionalProperties":false,"properties":{"answer":{"type":"string"}},'
            '"required":["answer"],"type":"object"}\n\n'
            "In adhering to this structure, your objective is: \n        Say it."
        ),
    }
    assert user == {
        "role": "user",
        "content": (
            "[[ ## table ## ]]\n1 2 3\n\n[[ ## locus ## ]]\nhere\n\n"
            "Respond with one JSON object that follows the schema: `answer`."
        ),
    }


def test_demonstrations_are_question_and_answer_before_the_question():
    demo = {"context": "c", "locus": "l", "answer": Inner.model_validate(GOOD["answer"]), "note": "ok"}
    messages = StrictJSON().format(Ask, [demo], {"context": "c2", "locus": "l2"})
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert "[[ ## locus ## ]]\nl\n" in messages[1]["content"] + "\n"
    assert json.loads(messages[2]["content"]) == GOOD
    assert "[[ ## locus ## ]]\nl2\n" in messages[3]["content"]


def test_inputs_that_are_not_texts_are_written_as_dspy_writes_them():
    class Listed(dspy.Signature):
        """Do it."""

        items: list[str] = dspy.InputField()
        answer: str = dspy.OutputField()

    ours = StrictJSON().format(Listed, [], {"items": ["a", "b"]})[1]["content"]
    stock = dspy.JSONAdapter().format(Listed, [], {"items": ["a", "b"]})[1]["content"]
    assert ours.split("\n\nRespond")[0] == stock.split("\n\nRespond")[0]


def test_a_reworded_signature_is_not_mistaken_for_the_first():
    adapter = StrictJSON()
    first = adapter.format(Ask, [], {"context": "c", "locus": "l"})
    second = adapter.format(Ask.with_instructions("Do the other."), [], {"context": "c", "locus": "l"})
    assert "Do it." in first[0]["content"]
    assert "Do the other." in second[0]["content"]
