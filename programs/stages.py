"""The stages at which programs ask a model. A profile may give each its own model and decoding."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """What a model call is for; ``[lm.STAGE]`` of an experiment file is named by it. ``relocator`` is that of
    :mod:`abduce.data.build.codiesp`."""

    GENERATOR = "generator"
    VERIFIER = "verifier"
    SELECTOR = "selector"
    FORMULATE = "formulate"
    REWRITE = "rewrite"
    PROPOSE = "propose"
    HYDE = "hyde"
    ANSWER = "answer"
    TENTATIVE_ANSWER = "tentative_answer"
    DOCUMENT_JUDGE = "document_judge"
    JUDGE = "judge"
    RELOCATOR = "relocator"


FACT_STAGES = (Stage.GENERATOR, Stage.VERIFIER, Stage.SELECTOR)
"""Of FHS and what it is compared with."""
RAG_STAGES = (
    Stage.FORMULATE, Stage.REWRITE, Stage.PROPOSE, Stage.HYDE, Stage.ANSWER, Stage.TENTATIVE_ANSWER,
    Stage.DOCUMENT_JUDGE,
)  # fmt: skip
"""Of HCQR and what it is compared with; ``judge`` stands apart, for a run may have several or none."""
