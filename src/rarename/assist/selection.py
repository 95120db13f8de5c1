"""Which files are checked: the patterns of the settings, `.gitignore` files, and files changed since a revision."""

from collections.abc import Collection
from pathlib import Path

from rarename.assist.settings import Configuration, Patterns, is_hard
from rarename.errors import UsageError
from rarename.reading import open_regular

_MAX_BYTES = 1_000_000  # of a `.gitignore` that are read


class Selection:
    """Decides about the files of folders, and about named files. All paths are absolute."""

    def __init__(self, configuration: Configuration, changed: Collection[Path] | None = None) -> None:
        self._configuration, self._changed = configuration, changed
        self._gitignores: dict[Path, list[Patterns]] = {}
        self._named_folders: set[Path] = set()  # a named folder is checked even if git ignores it

    def name_folder(self, folder: Path) -> None:
        """Check a folder that the user names, even if a `.gitignore` above it ignores it."""
        if self._is_ignored_by_git(folder, True):
            self._named_folders.add(folder)
            self._gitignores.clear()

    def leaves_out(self, path: Path, is_folder: bool = False) -> bool:
        """Whether a file or folder inside a folder is left out."""
        settings = self._configuration.settings_for(path.parent)
        is_ignored = settings.respect_gitignore and self._is_ignored_by_git(path, is_folder)
        return is_ignored or settings.excludes(path, is_folder) or (not is_folder and self._is_silent(path))

    def leaves_out_named(self, path: Path, is_folder: bool = False) -> bool:
        """Whether a file or folder that the user names is left out."""
        settings = self._configuration.settings_for(path.parent)
        if settings.force_exclude and any(
            settings.excludes(each, each != path or is_folder) for each in (path, *path.parents)
        ):
            return True
        return not is_folder and self._is_silent(path)

    def includes(self, path: Path) -> bool | None:
        """Whether `include` selects a file; None if there is no such setting."""
        include = self._configuration.settings_for(path.parent).include
        return None if include is None else bool(include.decide(path))

    def replaces_defaults(self, folder: Path) -> bool:
        """Whether `exclude` replaces the folders that are left out by default."""
        return self._configuration.settings_for(folder).exclude is not None

    def min_confidence(self, path: Path) -> float | None:
        """The threshold for a file; None for that of the model."""
        return self._configuration.settings_for(path.parent).min_confidence

    def _is_silent(self, path: Path) -> bool:
        is_unchanged = self._changed is not None and path not in self._changed
        return is_unchanged or self._configuration.settings_for(path.parent).ignores(path)

    def _is_ignored_by_git(self, path: Path, is_folder: bool) -> bool:
        # The nearest file decides.
        return next(
            (verdict for each in self._ignores(path.parent) if (verdict := each.decide(path, is_folder)) is not None),
            False,
        )

    def _ignores(self, folder: Path) -> list[Patterns]:
        """The patterns of `.gitignore` files from a folder up to the root of its repository, nearest first."""
        if folder not in self._gitignores:
            is_root = (folder / ".git").exists()
            names = [".gitignore", ".git/info/exclude"][: 1 + is_root]
            found = [patterns for name in names if (patterns := _read(folder / name, folder))]
            if not (is_root or folder in self._named_folders):
                # Outside of a repository nothing is ignored.
                is_inside = any((each / ".git").exists() for each in folder.parents)
                found = [*found, *self._ignores(folder.parent)] if is_inside else []
            self._gitignores[folder] = found
        return self._gitignores[folder]


def _read(path: Path, folder: Path) -> Patterns | None:
    try:
        with open_regular(path) as file:
            lines = file.read(_MAX_BYTES).decode("utf-8-sig", "surrogateescape").splitlines()
        return Patterns.of(folder, [line for line in lines if not is_hard(line)])
    except (OSError, UsageError):  # git itself goes on without a file that it cannot read
        return None
