"""The ``[lm]`` table of an experiment and its stages, read and checked.

```toml
[lm]
kind = "vllm"                                   # vllm | openai | llama-cpp | none
model = "Qwen/Qwen3-32B"
base_url = ["http://gpu1:8000/v1", "http://gpu2:8000/v1"]   # several = replicas of the same model
[lm.generator]
temperature = 0.8
[lm.judge]
kind = "openai"
model = "gpt-4.1-2025-04-14"
base_url = "https://..."
api_key_env = "JUDGE_KEY"                       # the name of a variable, never a key
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..programs.stages import Stage
from ..retrievers.errors import InputError
from ..signatures.toml import UNKNOWN, problem

Kind = Literal["vllm", "openai", "llama-cpp", "none"]
KINDS: tuple[str, ...] = get_args(Kind)
STAGES = tuple(stage.value for stage in Stage)
"""What ``[lm.STAGE]`` may name."""

DEFAULT_MODEL = {"vllm": "Qwen/Qwen3-32B"}
DEFAULT_URL = {"vllm": "http://localhost:8000/v1"}
KEY_VARIABLE = {"vllm": "VLLM_API_KEY", "openai": "OPENAI_API_KEY"}
_SECRET = re.compile(r"(^|[_-])(api[_-]?key|token|secret|password|authorization)$", re.IGNORECASE)


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Decoding(_Table):
    """Decoding settings. Every value is sent with every request; None leaves it to the server.

    ``temperature`` 0 is greedy. Settings in ``[lm.STAGE]`` override the program's; settings in ``[lm]`` are
    defaults if the program sets none. ``seeds`` sends a seed with sampled replies, made from the run's seed
    and the sample's number. ``top_k`` and ``min_p`` are not in the OpenAI protocol, but vLLM, SGLang and
    llama.cpp accept them.
    """

    temperature: float = Field(0.0, ge=0, le=2)
    top_p: float = Field(1.0, gt=0, le=1)
    max_tokens: int = Field(2048, ge=1)
    seeds: bool = True
    top_k: int | None = Field(None, ge=1)
    min_p: float | None = Field(None, ge=0, le=1)


class Serve(_Table):
    """Settings of ``abduce lm serve``. Sizes count GPUs; ``max_model_len`` counts tokens."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=1, le=65535)
    tensor_parallel: int = Field(1, ge=1)
    data_parallel: int = Field(1, ge=1)
    max_model_len: int | None = Field(None, ge=512)
    gpu_memory: float = Field(0.90, gt=0, le=1)
    max_num_seqs: int | None = Field(None, ge=1)
    args: tuple[str, ...] = ()

    @field_validator("args")
    @classmethod
    def _no_key(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(arg.split("=", 1)[0] == "--api-key" for arg in value):
            raise ValueError("holds an --api-key: set the variable VLLM_API_KEY, which vLLM reads itself")
        return value


class Profile(_Table):
    """One model at one address.

    Attributes:
        model: the model's name on the server.
        base_url: one or more roots that end in ``/v1``; requests are spread over them.
        api_key_env: the environment variable with the key (default ``VLLM_API_KEY``, ``OPENAI_API_KEY``); if
            it is not set, no key is sent.
        thinking: Qwen3's switch. False for ``vllm`` and ``llama-cpp``; None (the default of ``openai``) sends
            no switch, for endpoints that refuse unknown keys.
        schema_mode: ``strict`` sends the answer's JSON schema; ``portable`` sends it without text lengths,
            which some clouds refuse; ``object`` asks for any JSON object; ``off`` sends nothing. The answer
            is checked against the whole schema in every case.
        timeout: seconds without a byte after which a reply is stalled.
        deadline: seconds for a whole reply, from the end of the request to its last byte; default twice
            ``timeout``. A reply has at most 4 MB in any case.
        max_connections: parallel requests over all replicas; more wait.
        patience: seconds for which a request is retried if a server is away or overloaded.
        probe: check the addresses before a run starts, and stop if none accepts connections; false for runs
            that the cache can answer.
        tries: the most times a request is sent if the server answers with an error.
        identity: separates this server's cached replies from others'; default its addresses.
        extra: further keys of the request body, sent unchanged.
        path, threads, context: llama-cpp: the GGUF file, CPU threads, context tokens (total of all
            ``slots``).
    """

    kind: Kind = "none"
    model: str = ""
    base_url: tuple[str, ...] = ()
    api_key_env: str | None = None
    thinking: bool | None = None
    schema_mode: Literal["strict", "portable", "object", "off"] = Field("strict", alias="schema")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    timeout: float = Field(300.0, gt=0, allow_inf_nan=False)
    deadline: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_connections: int = Field(256, ge=1)
    patience: float = Field(180.0, ge=0)
    tries: int = Field(4, ge=1)
    probe: bool = True
    identity: str | None = None
    trust_env: bool | None = None
    extra: Mapping[str, Any] = Field(default_factory=dict)
    path: str | None = None
    threads: int | None = Field(None, ge=1)
    context: int = Field(32768, ge=512)
    slots: int = Field(2, ge=1)
    serve: Serve = Serve()  # type: ignore[call-arg]

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True, protected_namespaces=()
    )

    @field_validator("base_url", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        urls = (value,) if isinstance(value, str) else tuple(value or ())
        for url in urls:
            parts = urlsplit(str(url))
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{_bare(url)!r} is not a http(s) address")
            if parts.username or parts.password or parts.query:
                raise ValueError(
                    "credentials do not belong in an address: put the key in an environment variable"
                )
        return tuple(str(url).rstrip("/") for url in urls)

    @field_validator("extra")
    @classmethod
    def _no_secrets(cls, value: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in _keys(value):
            if _SECRET.search(key):
                raise ValueError(f"{key!r} looks like a secret: name an environment variable in api_key_env")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _a_variable_name(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", value):
            raise ValueError("is the name of an environment variable, not a key")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Profile:
        if self.kind == "openai" and not (self.model and self.base_url):
            raise ValueError("kind 'openai' needs model and base_url")
        if self.kind == "llama-cpp" and not self.path:
            raise ValueError("kind 'llama-cpp' needs path, a GGUF file")
        return self

    @property
    def served_model(self) -> str:
        """The model's name in requests."""
        fallback = Path(self.path).stem if self.path else ""
        return self.model or DEFAULT_MODEL.get(self.kind, fallback)

    @property
    def urls(self) -> tuple[str, ...]:
        """Addresses without a trailing slash; empty for ``llama-cpp`` until its server runs."""
        return self.base_url or tuple(u for u in (DEFAULT_URL.get(self.kind),) if u)

    @property
    def sends_schema(self) -> bool:
        return self.schema_mode in ("strict", "portable")

    @property
    def key_variable(self) -> str | None:
        return self.api_key_env or KEY_VARIABLE.get(self.kind)

    @property
    def thinks(self) -> bool | None:
        """The value sent for Qwen3's thinking switch, or None if none is sent."""
        if self.thinking is not None or self.kind == "openai":
            return self.thinking
        return False


class StageProfile(_Table):
    """One stage's model and decoding settings; ``stated`` names the settings that the user gave for the
    stage.
    """

    profile: Profile
    decoding: Decoding
    stated: frozenset[str] = frozenset()


class ModelProfiles(_Table):
    """An ``[lm]`` table: the default, and the stages that differ."""

    default: StageProfile
    stages: Mapping[str, StageProfile] = Field(default_factory=dict)

    @classmethod
    def read(cls, table: Mapping[str, Any], *, file: str | Path | None = None) -> ModelProfiles:
        """Read an ``[lm]`` table. A stage inherits every setting that it does not give. A stage with another
        ``kind``, ``base_url`` or ``path`` inherits only decoding settings.

        Raises:
            InputError: names the key.
        """
        own = {k: v for k, v in table.items() if k not in STAGES}
        default = _stage(own, "lm", file, stated=())
        stages: dict[str, StageProfile] = {}
        for name in STAGES:
            part = table.get(name)
            if part is None:
                continue
            if not isinstance(part, Mapping):
                raise InputError(f"must be a table [lm.{name}]", file=file, field=f"lm.{name}")
            elsewhere = any(key in part and part[key] != own.get(key) for key in ("kind", "base_url", "path"))
            inherited = {k: v for k, v in own.items() if k in Decoding.model_fields} if elsewhere else own
            if elsewhere and "kind" not in part:
                inherited = {**inherited, "kind": own.get("kind", "openai")}
            stated = [key for key in part if key in Decoding.model_fields]
            stages[name] = _stage({**inherited, **part}, f"lm.{name}", file, stated)
        return cls(default=default, stages=stages)

    def of(self, stage: str) -> StageProfile:
        return self.stages.get(stage, self.default)

    def resolved(self) -> dict[str, Any]:
        """The full table with every default; it never contains a key."""
        table = _written(self.default)
        for name, stage in self.stages.items():
            table[name] = _written(stage)
        return table


def _stage(
    table: Mapping[str, Any], where: str, file: str | Path | None, stated: Iterable[str]
) -> StageProfile:
    decoding = {k: v for k, v in table.items() if k in Decoding.model_fields}
    profile = {k: v for k, v in table.items() if k not in Decoding.model_fields}
    try:
        return StageProfile(
            profile=Profile.model_validate(profile),
            decoding=Decoding.model_validate(decoding),
            stated=frozenset(stated),
        )
    except ValidationError as error:
        field, message = problem(error)
        if message == UNKNOWN:
            message += f"; known: {_known(field)}"
        place = ".".join([where, *(part for part in field.split(".") if part and not part.isdecimal())])
        raise InputError(message, file=file, field=place) from None


def _known(field: str) -> str:
    """The settings that may stand where an unknown field does."""
    if field.startswith("serve."):
        return ", ".join(sorted(Serve.model_fields))
    names = {f.alias or n for n, f in Profile.model_fields.items()} | set(Decoding.model_fields)
    return f"{', '.join(sorted(names))}, and the stages {', '.join(STAGES)}"


def _written(stage: StageProfile) -> dict[str, Any]:
    profile = stage.profile.model_dump(mode="json", by_alias=True, exclude_none=True)
    decoding = stage.decoding.model_dump(mode="json", exclude_none=True)
    if stage.profile.kind == "none":
        return {"kind": "none"}
    profile["model"] = stage.profile.served_model
    profile["base_url"] = list(stage.profile.urls)
    if stage.profile.thinks is not None:
        profile["thinking"] = stage.profile.thinks
    return {**profile, **decoding}


def _keys(value: Any) -> Iterator[str]:
    """The keys of a table and of every table in it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield str(key)
            yield from _keys(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _keys(part)


def _bare(url: Any) -> str:
    """An address without possible secrets."""
    text = str(url).rsplit("@", 1)[-1].split("?", 1)[0]
    return text[:80]
