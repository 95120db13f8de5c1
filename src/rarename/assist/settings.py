"""Settings of `check`: read from `rarename.toml` or `[tool.rarename]` in `pyproject.toml`; the nearest file wins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from reprlib import repr as shorten
from typing import TYPE_CHECKING, Any

from rarename.assist.diagnostics import CODE
from rarename.errors import UsageError
from rarename.reading import read_toml

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

CONFIG_FILES = ("rarename.toml", "pyproject.toml")  # in one folder, the first wins


def is_hard(pattern: str) -> bool:
    """Whether to match a pattern may take minutes: time is a power of the length, and each * or ** raises it."""
    names = pattern.rstrip("/").split("/")
    return names[:-1].count("**") > 2 or any(name.replace("**", "*").count("*") > 3 for name in names)


@dataclass(frozen=True)
class Patterns:
    """Patterns as in `.gitignore`, relative to a folder."""

    folder: Path
    spec: "GitIgnoreSpec"

    @classmethod
    def of(cls, folder: Path, lines: list[str] | tuple[str, ...], source: str = "command line") -> "Patterns":
        from pathspec import GitIgnoreSpec  # not needed where there are no patterns

        if hard := [line for line in lines if is_hard(line)]:
            problem = f"the pattern {hard[0]!r} has too many *; expected three in a name and two ** at most"
            raise UsageError(f"{source}: {problem}")
        try:
            return cls(folder, GitIgnoreSpec.from_lines(lines))
        except (ValueError, re.error) as error:  # re.error: a range such as [z-a]
            raise UsageError(
                f"{source}: {', '.join(map(repr, lines))} is not a list of patterns as in .gitignore: {error}"
            ) from None

    def decide(self, path: Path, is_folder: bool = False) -> bool | None:
        """True if a pattern matches, False if a pattern with `!` does, None if no pattern does."""
        if not path.is_relative_to(self.folder) or path == self.folder:
            return None
        return self.spec.check_file(path.relative_to(self.folder).as_posix() + "/" * is_folder).include


@dataclass(frozen=True)
class Settings:
    """The settings for the files of a folder. A field `min_confidence` is the key `min-confidence` of a file."""

    include: Patterns | None = None
    """Files to check in folders; by default those with a suffix of a language."""
    exclude: Patterns | None = None
    """Files and folders to leave out, instead of `node_modules` and `__pycache__`."""
    extend_exclude: Patterns | None = None
    """Files and folders to leave out as well."""
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    """Codes that are not reported in the files that match a pattern."""
    min_confidence: float | None = None
    """Findings below it are not reported; by default the threshold of the model."""
    output_format: str | None = None
    """One of the output formats."""
    force_exclude: bool = False
    """Whether `exclude` and `extend-exclude` hold for named files as well."""
    respect_gitignore: bool = True
    """Whether files that git ignores are left out of folders."""
    baseline: Path | None = None
    """The file with the old findings, which are not reported."""

    def excludes(self, path: Path, is_folder: bool = False) -> bool:
        """Whether `exclude` or `extend-exclude` leaves a path out."""
        return any(each and each.decide(path, is_folder) for each in (self.exclude, self.extend_exclude))

    def ignores(self, path: Path) -> bool:
        """Whether `per-file-ignores` leaves nothing to report in a file."""
        return any(
            patterns.decide(path) and codes  # a code covers RN001, or it is an error
            for patterns, codes in self.per_file_ignores
        )


@dataclass
class Configuration:
    """The settings of every folder: those of the nearest file above it, and `overrides` of the command line."""

    overrides: Mapping[str, Any] = field(default_factory=dict)  # by the names of the fields of `Settings`
    file: Path | None = None  # the only file to read
    is_isolated: bool = False  # no file is read
    _by_folder: dict[Path, Settings] = field(default_factory=dict)

    def settings_for(self, folder: Path) -> Settings:
        """The settings for the files of a folder, an absolute path."""
        if folder not in self._by_folder:
            found = None
            if self.file:
                found = load_settings(self.file)
            elif not self.is_isolated:
                found = next(filter(None, (load_settings(folder / name) for name in CONFIG_FILES)), None)
                if found is None and folder.parent != folder:
                    found = self.settings_for(folder.parent)
            self._by_folder[folder] = replace(found or Settings(), **self.overrides)
        return self._by_folder[folder]


def load_settings(path: Path) -> Settings | None:
    """Read a file; None if it does not exist, or if it is a `pyproject.toml` without `[tool.rarename]`."""
    try:
        content = read_toml(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if path.name == "pyproject.toml":
        tool = content.get("tool", {})
        if not isinstance(tool, dict) or "rarename" not in tool:
            return None
        content = tool["rarename"]
        if not isinstance(content, dict):
            raise UsageError(f"{path}: tool.rarename is {shorten(content)}; expected a table")
    return Settings(**field_values(content, str(path), path.parent.resolve()))


def field_values(content: Mapping[str, Any], source: str, folder: Path) -> dict[str, Any]:
    """Check settings; return the values of the fields of `Settings`. Patterns and paths are relative to the folder."""
    return {key.replace("-", "_"): _value(source, folder, key, value) for key, value in content.items()}


def _value(source: str, folder: Path, key: str, value: Any) -> Any:
    from rarename.assist.formats import FORMATS

    keys = [each.name.replace("_", "-") for each in fields(Settings)]
    if key not in keys:
        from difflib import get_close_matches

        close = get_close_matches(key, keys, 1)
        advice = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(keys)}"
        raise UsageError(f"{source}: unknown setting {key!r}; {advice}")
    if key in ("include", "exclude", "extend-exclude") and _is_list_of_text(value):
        return Patterns.of(folder, value, source)
    if key == "per-file-ignores" and isinstance(value, dict) and all(map(_is_list_of_codes, value.values())):
        return tuple((Patterns.of(folder, [pattern], source), tuple(codes)) for pattern, codes in value.items())
    if key == "min-confidence" and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    if key in ("force-exclude", "respect-gitignore") and isinstance(value, bool):
        return value
    if key == "baseline" and isinstance(value, str):
        return folder / value
    if key == "output-format" and isinstance(value, str) and value in FORMATS:
        return value
    expected = {
        "per-file-ignores": 'a table such as { "tests/*" = ["RN001"] }',
        "min-confidence": "a number from 0 to 1",
        "force-exclude": "true or false",
        "respect-gitignore": "true or false",
        "baseline": "the name of a file",
        "output-format": f"one of {', '.join(FORMATS)}",
    }.get(key, "a list of patterns")
    raise UsageError(f"{source}: {key} is {shorten(value)}; expected {expected}")


def _is_list_of_codes(value: Any) -> bool:
    return _is_list_of_text(value) and all(code == "ALL" or (code and CODE.startswith(code)) for code in value)


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
