"""Settings of the RAG programs. An unknown key is an error."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class RAGConfig(BaseModel):
    """What every RAG method shares (paper: 4.4, B.1).

    ``window`` and ``output`` are the model's context length and its longest answer, in tokens; ``reserve``
    is kept for the instructions and the reply format. What is left holds question, options and documents.
    ``answer = False`` stops after retrieval: the prediction then has a context but no answer (0 calls for
    the generator), for measurements without a model. ``cite`` asks the generator for the sentences that
    decide, which are checked against the context and stand in ``notes["statements"]``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    B_max: int = Field(default=15, ge=1, le=1000, description="documents in the final context")
    per_query: int = Field(default=5, ge=1, le=1000, description="documents a query, multi-query methods")
    window: int = Field(default=8192, ge=512)
    output: int = Field(default=2048, ge=1)
    reserve: int = Field(default=700, ge=0)
    answer: bool = True
    probabilities: bool = Field(
        default=False, description="ask for the log-probabilities of the options (notes['probabilities'])"
    )
    cite: bool = Field(
        default=False, description="ask for the deciding sentences too (another prompt than the paper's)"
    )


class RewritingConfig(RAGConfig):
    """Rewriting, and Rewriting + options."""

    options: bool = Field(default=False, description="show the answer options to the rewriter")


class HyDEConfig(RAGConfig):
    """HyDE (paper: B.5)."""

    documents: int = Field(default=8, ge=1, le=64)
    temperature: float = Field(default=0.7, gt=0.0, le=2.0)
    lexical_depth: int = Field(
        default=1000, ge=1, description="places a query that count where the retriever has no vectors"
    )


class RerankConfig(RAGConfig):
    """Rerank-RAG (paper: B.6)."""

    pool: int = Field(default=150, ge=1, description="candidates that the cross-encoder reads")


class MainRAGConfig(RAGConfig):
    """MAIN-RAG (paper: B.7)."""

    order: Literal["retrieval", "score"] = Field(
        default="retrieval", description="order of the documents that survive the filter"
    )
    top_logprobs: int = Field(default=20, ge=2, le=20)


class HCQRConfig(RAGConfig):
    """HCQR, its controls and ablations (paper: 3.2 to 3.5, Tables 5 and 6).

    ``drop`` leaves out one query; its place in the budget is not refilled.
    """

    options: bool = Field(default=True, description="show the answer options to the formulator")
    drop: Literal["q1", "q2", "q3"] | None = None
    expose_hypothesis: bool = Field(default=False, description="show the hypothesis to the generator")
    open_ended: bool = Field(default=False, description="propose candidate answers where there are none")

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.cite and self.expose_hypothesis:
            raise ValueError("cite and expose_hypothesis are two prompts: set one of them")
        return self


class EitherConfig(HCQRConfig):
    """HCQR or CoT (ours). ``rule`` is the path of the rules that ``abduce calibrate`` fitted on a run of this
    row; empty: a majority of both answers and the working hypothesis."""

    rule: str = ""
    probabilities: bool = True
