"""Encoding: vocabulary and strategy together, which take a snippet to model ids and back.

They are useless apart once a model is trained, so they are saved together with it. A corpus holds rank ids
and a file holds names; both end in `encode_ranks`, so training and use cannot drift apart.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarename.anonymize import Ints, Surplus, anonymize_ranks, strategy_named
from rarename.errors import CorpusError, UsageError
from rarename.io import write_text
from rarename.syntax.traversal import Role
from rarename.vocabulary import PLACEHOLDER, Special, Vocabulary

FORMAT_VERSION = 1

STAND_INS = {Role.STRING: Special.STRING, Role.NUMBER: Special.NUMBER, Role.REGEXP: Special.REGEXP}
"""The literals that a task may hide, and what stands for them."""


@dataclass(frozen=True)
class Encoded:
    """A snippet as model ids, with what its placeholders stand for."""

    types: Ints
    values: Ints
    names: dict[int, str]
    """The name behind each placeholder, by model id."""


@dataclass(frozen=True)
class Encoding:
    """How names and node types become the numbers that a model reads.

    >>> encoding = Encoding(Vocabulary(["np", "sin"]), placeholders=9)
    >>> encoded = encoding.encode(["my_y", "np", "sin", "my_x", "my_x"])
    >>> encoding.spell(encoded.values)
    ['VAR1', 'np', 'sin', 'VAR2', 'VAR2']
    >>> encoding.decode(encoded.values, encoded.names)
    ['my_y', 'np', 'sin', 'my_x', 'my_x']
    """

    values: Vocabulary
    """The values that keep their name."""
    types: Vocabulary = field(default_factory=lambda: Vocabulary([]))
    """The node types of the corpus; others become UNK, for the set of types has no end."""
    strategy: str = "ordered"
    """A key of `anonymize.STRATEGIES`."""
    placeholders: int = 500
    """How many placeholders there are; the paper takes the length of the longest snippet."""
    hidden: frozenset[Role] = frozenset()
    """Literals that are replaced by a stand-in: any of the keys of `STAND_INS`."""
    parts: Vocabulary = field(default_factory=lambda: Vocabulary([]))
    """The parts of names that a model is told beside the name or placeholder; the paper has none."""

    def __post_init__(self) -> None:
        strategy_named(self.strategy)
        if unknown := self.hidden - STAND_INS.keys():
            raise UsageError(
                f"there is no stand-in for {', '.join(role.name for role in unknown)}; "
                f"choose from {', '.join(role.name for role in STAND_INS)}"
            )

    @property
    def num_values(self) -> int:
        """The number of value ids: special ones, kept names, placeholders."""
        return len(Special) + len(self.values) + self.placeholders

    @property
    def num_types(self) -> int:
        """The number of type ids, the special ones included."""
        return len(Special) + len(self.types)

    @property
    def first_placeholder(self) -> int:
        """The model id of `VAR1`; all ids from here on are placeholders."""
        return len(Special) + len(self.values)

    def encode_ranks(
        self,
        ranks: NDArray[np.integer],
        roles: NDArray[np.integer] | None = None,
        seeds: Sequence[int] | None = None,
        surplus: Surplus = "unknown",
    ) -> Ints:
        """Rank ids (of one snippet, or a batch with a snippet a row) to model ids; `roles` tell what to hide."""
        if self.hidden:
            if roles is None:
                raise UsageError("an encoding that hides literals needs the roles of the nodes")
            ranks = np.array(ranks, dtype=np.int64)
            for role in self.hidden:
                ranks[roles == role] = STAND_INS[role].rank
        return anonymize_ranks(
            ranks,
            len(self.values),
            self.strategy,
            placeholders=self.placeholders,
            seeds=seeds,
            surplus=surplus,
        )

    def encode(
        self,
        values: Sequence[str | None],
        types: Sequence[str] = (),
        roles: Iterable[Role] | None = None,
        seed: int = 0,
    ) -> Encoded:
        """A snippet of names to model ids."""
        ranks, _ = self.values.ranks(values)
        role_ids = None if roles is None else np.fromiter(roles, dtype=np.int8)
        ids = self.encode_ranks(ranks, role_ids, [seed])
        names = {
            int(model_id): value
            for model_id, value in zip(ids, values, strict=True)
            if model_id >= self.first_placeholder and value is not None
        }
        return Encoded(self.encode_types(types), ids, names)

    def encode_types(self, types: Sequence[str]) -> Ints:
        """Node types to type ids."""
        ranks = self.type_ranks(types)
        return np.where(ranks < 0, ~ranks, ranks + len(Special)).astype(np.int64)

    def type_ranks(self, types: Sequence[str]) -> NDArray[np.int16]:
        """Node types to rank ids, as a corpus holds them; a type that is not known is `Special.UNK.rank`.

        >>> Encoding(Vocabulary([]), types=Vocabulary(["Module", "Expr"])).type_ranks(["Expr", "Match"])
        array([ 1, -2], dtype=int16)
        """
        ranks = {name: Special.UNK.rank if (rank := self.types.rank(name)) is None else rank for name in set(types)}
        return np.array([ranks[name] for name in types], dtype=np.int16)

    def decode(self, ids: Iterable[int], names: dict[int, str] | None = None) -> list[str | None]:
        """Model ids to values; `names` says what the placeholders stand for.

        A value that the ids do not tell (UNK, a stand-in, no value) is None.
        """
        known = names or {}
        return [
            None
            if model_id < len(Special)
            else self.values[model_id - len(Special)]
            if model_id < self.first_placeholder
            else known.get(model_id, self._placeholder(model_id))
            for model_id in map(int, ids)
        ]

    def spell(self, ids: Iterable[int]) -> list[str]:
        """Model ids as a person reads them: `np`, `VAR2`, `UNK`, `EMPTY`."""
        ids = [int(model_id) for model_id in ids]
        return [
            Special(model_id).name if value is None else value
            for model_id, value in zip(ids, self.decode(ids), strict=True)
        ]

    def _placeholder(self, model_id: int) -> str:
        return PLACEHOLDER.format(model_id - self.first_placeholder + 1)

    def save(self, path: Path) -> None:
        """Write the encoding as one JSON file."""
        content = {
            "format": "rarename-encoding",
            "version": FORMAT_VERSION,
            "strategy": self.strategy,
            "placeholders": self.placeholders,
            "hidden": sorted(role.name for role in self.hidden),
            "types": list(self.types),
            "values": list(self.values),
            "parts": list(self.parts),
        }
        write_text(path, json.dumps(content, ensure_ascii=False, indent=0) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Encoding":
        """Read what `save` wrote."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            version = (content["format"], content["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{path} is not an encoding written by rarename: {error}") from error
        if version != ("rarename-encoding", FORMAT_VERSION):
            raise CorpusError(
                f"{path} is of format {version[0]} version {version[1]}; this rarename reads rarename-encoding "
                f"version {FORMAT_VERSION}. Write it again with this version."
            )
        try:
            return cls(
                values=Vocabulary(content["values"]),
                types=Vocabulary(content["types"]),
                strategy=content["strategy"],
                placeholders=content["placeholders"],
                hidden=frozenset(Role[name] for name in content["hidden"]),
                parts=Vocabulary(content.get("parts", [])),
            )
        except (KeyError, TypeError) as error:
            raise CorpusError(f"{path} is damaged: {error!r}") from error
