"""Your own data in an experiment file: the table ``[data]``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from ..signatures.induce import induce_schema
from .columns import Columns
from .domains import Domain
from .example import Example, fingerprint
from .facts import read_facts
from .folder import DataFolder
from .taxonomies import find_taxonomy
from .text_rows import is_text_rows, read_text_rows

Name = Annotated[str, StringConstraints(min_length=1)]


class OwnData(BaseModel):
    """The table ``[data]``. Paths are relative to the experiment file.

    Attributes:
        facts: a facts file or a table of texts, or one per split. Each fact has its concept (``gold``).
        taxonomy: a taxonomy's file, index folder or name.
        schema_file: ``schema``: a dimension schema, bundled or a TOML file; empty: induced from the taxonomy.
        precedents: already-tagged facts, for the rows that use them.
        columns, text_columns: column names of the tables (:class:`~.columns.Columns`).
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    facts: Name | Annotated[dict[str, Name], Field(min_length=1)]
    taxonomy: Name
    schema_file: str = Field(default="", alias="schema")
    precedents: list[Name] = Field(default_factory=list)
    columns: dict[str, str] = Field(default_factory=dict)
    text_columns: list[Name] = Field(default_factory=list)

    def located(self, folder: Path) -> Self:
        """The same with absolute paths; names of releases and schemas stay."""

        def place(name: str) -> str:
            path = folder / name
            return str(path.resolve()) if path.exists() or Path(name).suffix else name

        facts: str | dict[str, str]
        if isinstance(self.facts, dict):
            facts = {split: place(path) for split, path in self.facts.items()}
        else:
            facts = place(self.facts)
        return self.model_copy(
            update={
                "facts": facts,
                "taxonomy": place(self.taxonomy),
                "schema_file": place(self.schema_file) if self.schema_file else "",
                "precedents": [place(path) for path in self.precedents],
            }
        )

    @property
    def headings(self) -> Columns:
        """The column names of the tables.

        Raises:
            InputError: an unknown name.
        """
        return Columns(self.columns, tuple(self.text_columns))

    @property
    def splits(self) -> Mapping[str, str]:
        """Split to file; facts without splits are ``all``."""
        return self.facts if isinstance(self.facts, dict) else {"all": self.facts}

    def split(self, wanted: str | None, usual: str) -> str:
        """The split to evaluate: the requested one, else the usual one, else the first.

        Raises:
            InputError: there is no such split.
        """
        if wanted is not None and wanted not in self.splits:
            known = ", ".join(self.splits)
            raise InputError(f"[data] has no split {wanted!r}; there are {known}", field="split")
        return wanted or (usual if usual in self.splits else next(iter(self.splits)))

    def open_taxonomy(self, folder: DataFolder) -> tuple[Taxonomy, Domain]:
        """The taxonomy, and the domain it resembles; the domain has no splits here.

        Raises:
            InputError: it is missing or invalid.
        """
        return find_taxonomy(self.taxonomy, folder, self.headings.names)

    def open_schema(self, taxonomy: Taxonomy, domain: Domain) -> DimensionSchema:
        """The dimension schema: the named one, the release's, or one induced from the taxonomy.

        Raises:
            InputError: there is no such schema, or it is invalid.
        """
        try:
            if self.schema_file or taxonomy.name == domain.taxonomy:
                return load_schema(self.schema_file or domain.schema)
            return induce_schema(taxonomy, taxonomy.name)
        except InputError:
            raise
        except ValueError as e:
            raise InputError(str(e), field="data.schema") from e

    def examples(self, split: str, bad: list[InputError] | None = None) -> list[Example]:
        """The facts of a split, each with its concept.

        Raises:
            InputError: the file is missing or invalid, has no facts, or a fact has no concept.
        """
        path = Path(self.splits[split])
        if is_text_rows(path, self.headings):
            found = list(read_text_rows(path, self.headings, bad, need_gold=True))
        else:
            found = list(read_facts(path, None, bad, need_gold=True))
        if not found:
            raise InputError("has no facts", file=path)
        return found


def own_fingerprint(taxonomy: Taxonomy) -> str:
    """A hash of the ranked data."""
    content: Any = [taxonomy.name, taxonomy.content_hash, list(taxonomy.indexed)]
    return fingerprint(content)
