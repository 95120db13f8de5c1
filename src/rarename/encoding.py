"""Encoding: the vocabulary and the strategy of a model, which map snippets to model ids and back.

A model needs the encoding that it was trained with, so both are saved together. Training reads rank ids from a corpus;
inference reads names from a file. Both call `encode_ranks`, so that they cannot differ.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarename.anonymize import (
    STRATEGIES,
    Ints,
    IsIdentifier,
    OnOverflow,
    anonymize_ranks,
    identifier_flags,
    strategy_named,
)
from rarename.errors import CorpusError, UsageError
from rarename.io import write_text
from rarename.reading import check_shape, read_json
from rarename.syntax.traversal import Role
from rarename.vocabulary import PLACEHOLDER, Special, Vocabulary, rank_to_id

FORMAT = ("rarename-encoding", 2)
NO_NAMES = Vocabulary([])

LITERAL_MASKS = {Role.STRING: Special.STRING, Role.NUMBER: Special.NUMBER, Role.REGEXP: Special.REGEXP}
"""The special value that replaces each kind of literal, if the encoding masks it."""

MAX_PLACEHOLDERS, MAX_TYPES = 1_000_000, 32_000  # type ids are 16-bit numbers
_SHAPE = {
    "strategy": tuple(STRATEGIES),
    "num_placeholders": range(MAX_PLACEHOLDERS + 1),
    "masked_literals": [tuple(role.name for role in LITERAL_MASKS)],
    "types": [str],
    "values": [str],
    "subtokens": [str],
}


@dataclass(frozen=True)
class Encoded:
    """A snippet as model ids, and the original names of its placeholders."""

    types: Ints
    values: Ints
    names: dict[int, str]  # the original name of each placeholder, by model id


@dataclass(frozen=True)
class Encoding:
    """Maps names and node types to model ids.

    >>> encoding = Encoding(Vocabulary(["np", "sin"]), num_placeholders=9)
    >>> encoded = encoding.encode(["my_y", "np", "sin", "my_x", "my_x"])
    >>> encoding.to_text(encoded.values)
    ['VAR1', 'np', 'sin', 'VAR2', 'VAR2']
    >>> encoding.decode(encoded.values, encoded.names)
    ['my_y', 'np', 'sin', 'my_x', 'my_x']
    """

    values: Vocabulary  # the values that keep their name
    types: Vocabulary = NO_NAMES  # the node types of the corpus; other types become UNK
    strategy: str = "ordered"  # a key of `anonymize.STRATEGIES`
    num_placeholders: int = 500  # in the paper the length of the longest snippet
    masked_literals: frozenset[Role] = frozenset()  # replaced by a special value: keys of `LITERAL_MASKS`
    subtokens: Vocabulary = NO_NAMES  # of names, an additional input of the model; the paper has none

    def __post_init__(self) -> None:
        strategy_named(self.strategy)
        if unknown := self.masked_literals - LITERAL_MASKS.keys():
            refused, known = (", ".join(role.name for role in roles) for roles in (unknown, LITERAL_MASKS))
            raise UsageError(f"cannot mask {refused}; choose from {known}")
        if len(self.types) > MAX_TYPES:
            raise UsageError(f"there are {len(self.types):,} node types; expected at most {MAX_TYPES:,}")

    @property
    def num_values(self) -> int:
        """The number of value ids: special values, names, placeholders."""
        return self.first_placeholder + self.num_placeholders

    @property
    def num_types(self) -> int:
        """The number of type ids, including the special ones."""
        return len(Special) + len(self.types)

    @property
    def first_placeholder(self) -> int:
        """The model id of `VAR1`. All ids from here on are placeholders."""
        return len(Special) + len(self.values)

    def encode_ranks(
        self,
        ranks: NDArray[np.integer],
        roles: NDArray[np.integer] | None = None,
        seeds: Sequence[int] | None = None,
        on_overflow: OnOverflow = "unk",
    ) -> Ints:
        """Map rank ids to model ids, for one snippet or a batch with one snippet per row.

        `roles` are needed if the encoding masks literals.
        """
        if self.masked_literals:
            if roles is None:
                raise UsageError("an encoding that masks literals needs the roles of the nodes")
            ranks = np.array(ranks, dtype=np.int64)
            for role in self.masked_literals:
                ranks[roles == role] = LITERAL_MASKS[role].rank
        size, num_placeholders = len(self.values), self.num_placeholders
        return anonymize_ranks(
            ranks, size, self.strategy, num_placeholders=num_placeholders, seeds=seeds, on_overflow=on_overflow
        )

    def encode(
        self,
        values: Sequence[str | None],
        types: Sequence[str] = (),
        roles: Iterable[Role] | None = None,
        seed: int = 0,
        *,
        is_identifier: IsIdentifier | None = None,
    ) -> Encoded:
        """Map the names and types of one snippet to model ids. A rare value that is not an identifier is `UNK`."""
        ranks, _ = self.values.ranks(values)
        is_name = np.array(identifier_flags(values, is_identifier), dtype=bool)
        ranks = np.where(is_name | (ranks < len(self.values)), ranks, Special.UNK.rank)
        role_ids = None if roles is None else np.fromiter(roles, dtype=np.int8)
        ids = self.encode_ranks(ranks, role_ids, [seed])
        pairs = zip(ids.tolist(), values, strict=True)
        names = {id_: name for id_, name in pairs if id_ >= self.first_placeholder and name is not None}
        return Encoded(self.encode_types(types), ids, names)

    def encode_types(self, types: Sequence[str]) -> Ints:
        """Map node types to type ids."""
        return rank_to_id(self.type_ranks(types))

    def type_ranks(self, types: Sequence[str]) -> NDArray[np.int16]:
        """Map node types to rank ids, as in a corpus. An unknown type is `Special.UNK.rank`."""
        ranks, unknown = {name: rank for rank, name in enumerate(self.types)}, Special.UNK.rank
        return np.array([ranks.get(name, unknown) for name in types], dtype=np.int16)

    def decode(self, ids: Iterable[int], names: dict[int, str] | None = None) -> list[str | None]:
        """Map model ids to values: special values to None, placeholders to their original name if `names` has it."""
        known = names or {}
        return [None if model_id < len(Special) else self._name(model_id, known) for model_id in map(int, ids)]

    def to_text(self, ids: Iterable[int]) -> list[str]:
        """Map model ids to readable text: `np`, `VAR2`, `UNK`, `EMPTY`."""
        return [self._name(id_, {}) if id_ >= len(Special) else Special(id_).name for id_ in map(int, ids)]

    def _name(self, model_id: int, names: dict[int, str]) -> str:
        if model_id < self.first_placeholder:
            return self.values[model_id - len(Special)]
        return names.get(model_id, PLACEHOLDER.format(model_id - self.first_placeholder + 1))

    def save(self, path: Path) -> None:
        """Write the encoding as one JSON file."""
        content = {
            "format": FORMAT[0],
            "version": FORMAT[1],
            "strategy": self.strategy,
            "num_placeholders": self.num_placeholders,
            "masked_literals": sorted(role.name for role in self.masked_literals),
            "types": list(self.types),
            "values": list(self.values),
            "subtokens": list(self.subtokens),
        }
        write_text(path, json.dumps(content, ensure_ascii=False, indent=0) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Encoding":
        """Read a file written by `save`."""
        try:
            content = read_json(path)
            check_shape(content, {"format": str, "version": int})
            if (found := (content["format"], content["version"])) != FORMAT:
                found_format, known_format = (f"{name} version {version}" for name, version in (found, FORMAT))
                advice = "Write it again with this version."
                raise CorpusError(f"{path} is in format {found_format}; this rarename reads {known_format}. {advice}")
            check_shape(content, _SHAPE)
            return cls(
                values=Vocabulary(content["values"]),
                types=Vocabulary(content["types"]),
                strategy=content["strategy"],
                num_placeholders=content["num_placeholders"],
                masked_literals=frozenset(Role[name] for name in content["masked_literals"]),
                subtokens=Vocabulary(content["subtokens"]),
            )
        except (OSError, ValueError, UsageError) as error:
            raise CorpusError(f"{path} is not an encoding written by rarename: {error}") from error
