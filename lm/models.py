"""The models of a run: one ``dspy.LM`` per stage, on abduce's engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMConfigurationError

from ..programs.adapter import StrictJSON
from ..retrievers.errors import InputError
from .cache import use_cache
from .engine import Served
from .faults import Patience
from .meter import Meter
from .on_loop import asked_on_loop
from .profiles import Decoding, ModelProfiles, Profile, StageProfile
from .reach import refuse_if_away


class ServedLM(dspy.LM):
    """A ``dspy.LM`` on a :class:`Served` engine.

    ``stated`` names the decoding settings that the user fixed for the stage; they override the program's.
    ``seeds_samples``: sampled replies are requested with a seed.
    """

    tells_receipts = True

    def __init__(
        self, model: str, *, stated: Iterable[str] = (), seeds_samples: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(model, **{"num_retries": 0, **kwargs})
        self.stated = frozenset(stated)
        self.seeds_samples = seeds_samples

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """One call on the caller's event loop. The cache is shared with calls in threads; no thread is
        started.
        """
        return await asked_on_loop(self, prompt, messages, kwargs)

    def _warn_zero_temp_rollout(self, temperature: float | None, rollout_id: int | None) -> None:
        """A new rollout at temperature 0 is intended: it asks the server again instead of the cache."""

    def dump_state(self) -> dict[str, Any]:
        return {
            **super().dump_state(), "stated": sorted(self.stated), "seeds_samples": self.seeds_samples
        }  # fmt: skip


class Models:
    """The models of one ``[lm]`` table. ``default`` is None if the profile is ``none``.

    Programs find their models in the caller's DSPy context: ``stage_lms`` maps a stage to its ``dspy.LM``
    (None: the stage's kind is ``none``), ``lm`` is for all other stages, ``adapter`` turns signatures into
    messages, ``meter`` counts, and ``models`` is this object. A predictor's ``lm`` (``predictor.set_lm``)
    overrides all of them.
    """

    def __init__(
        self,
        profiles: ModelProfiles,
        default: ServedLM | None,
        stages: Mapping[str, ServedLM | None],
        closing: ExitStack,
    ) -> None:
        self.profiles = profiles
        self.default = default
        self.stages = dict(stages)
        self.adapter = StrictJSON()
        self.meter = Meter()
        self._closing = closing

    @classmethod
    def build(
        cls, profiles: ModelProfiles, *, cache: bool = True, cache_dir: str | Path | None = None
    ) -> Models:
        """Connect to nothing; a ``llama-cpp`` profile starts its server."""
        with ExitStack() as stack:
            engines: dict[str, tuple[str, Served]] = {}

            def model(stage: StageProfile) -> ServedLM | None:
                if stage.profile.kind == "none":
                    return None
                key = json.dumps(
                    [stage.profile.model_dump(mode="json"), stage.decoding.min_p], sort_keys=True
                )
                if key not in engines:
                    engines[key] = _engine(stage.profile, stage.decoding.min_p, stack)
                return _lm(stage, *engines[key], cache=cache)

            default = model(profiles.default)
            stages = {name: model(stage) for name, stage in profiles.stages.items()}
            if cache and any(lm is not None for lm in (default, *stages.values())):
                use_cache(cache_dir)
            return cls(profiles, default, stages, stack.pop_all())

    @contextmanager
    def context(self, meter: Meter | None = None) -> Iterator[Models]:
        """Everything inside uses these models, also threads that copy the context."""
        with dspy.context(
            lm=self.default,
            stage_lms=self.stages,
            adapter=self.adapter,
            meter=meter or self.meter,
            models=self,
        ):
            yield self

    def refuse_if_away(self, stages: Iterable[str], needed_by: str) -> None:
        """Check the servers of these stages once, before a run starts.

        Raises:
            InputError: no address of one of them accepts connections.
        """
        asked = {p.urls: p for p in (self.profiles.of(stage).profile for stage in stages)}
        for profile in asked.values():
            refuse_if_away(profile, needed_by)

    def for_stage(self, stage: str) -> ServedLM | None:
        return self.stages.get(stage, self.default)

    def resolved(self) -> dict[str, Any]:
        """The full ``[lm]`` table for ``resolved.toml``; it never contains a key."""
        return self.profiles.resolved()

    def identity(self) -> dict[str, Any]:
        """What replies depend on, by stage: the model, request settings and decoding settings, but not the
        host.
        """
        return {
            name: {
                "model": stage.profile.served_model,
                "thinking": stage.profile.thinks,
                "schema": stage.profile.schema_mode,
                "extra": dict(stage.profile.extra),
                "decoding": stage.decoding.model_dump(),
                "stated": sorted(stage.stated),
            }
            for name, stage in {"": self.profiles.default, **self.profiles.stages}.items()
        }

    def close(self) -> None:
        """Close connections, end waiting retries, stop servers that were started."""
        self._closing.close()

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _engine(profile: Profile, min_p: float | None, stack: ExitStack) -> tuple[str, Served]:
    urls = profile.urls
    if profile.kind == "llama-cpp" and not profile.base_url:
        from .llama import LlamaServer

        urls = (stack.enter_context(LlamaServer.of(profile)).url,)
    extra = dict(profile.extra)
    if min_p is not None:
        extra["min_p"] = min_p
    served = Served(
        profile.served_model,
        urls,
        key_variable=profile.key_variable,
        thinking=profile.thinks,
        schema=profile.schema_mode,
        extra=extra,
        patience=Patience(tries=profile.tries, seconds=profile.patience),
        timeout=profile.timeout,
        deadline=profile.deadline,
        max_connections=profile.max_connections,
        max_tokens_field=profile.max_tokens_field,
        trust_env=profile.kind == "openai" if profile.trust_env is None else profile.trust_env,
    )
    stack.callback(served.close)
    return server_identity(profile, urls, extra), served


def server_identity(profile: Profile, urls: tuple[str, ...], extra: Mapping[str, Any]) -> str:
    """A short name for a server and its request settings, part of every cache key.

    It covers what DSPy's key omits: the addresses (for a GGUF file, the file), the thinking switch and
    further body keys.
    """
    who: Any = sorted(urls)
    if profile.identity is not None:
        who = profile.identity
    elif profile.path is not None and not profile.base_url:
        file = Path(profile.path).stat()
        who = [Path(profile.path).name, file.st_size, file.st_mtime_ns]
    asked = [who, profile.thinks, profile.schema_mode, dict(extra)]
    return f"{profile.kind}-{hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:10]}"


def _lm(stage: StageProfile, identity: str, engine: Served, *, cache: bool) -> ServedLM:
    decoding: Decoding = stage.decoding
    sent = decoding.model_dump(exclude={"min_p", "seeds"}, exclude_none=True)
    try:
        return ServedLM(
            f"{identity}/{engine.model}", engine=engine, cache=cache, stated=stage.stated,
            seeds_samples=decoding.seeds, **sent,
        )  # fmt: skip
    except LMConfigurationError as error:
        raise InputError(str(error), field="lm") from None
