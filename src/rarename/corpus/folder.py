"""A folder of source files, a single file, or the standard library of the running interpreter."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rarename.corpus.document import Chunk, Document, Skip, Source, make_chunks
from rarename.discovery import EXCLUDED_FOLDERS, INSTALLED, Skipped, display_path, list_files, printable, read_regular

PROJECT_FILES = (".git", "pyproject.toml", "setup.py", "setup.cfg", "package.json")
# Linux distributions package the tests apart or not at all. Without them the library is the same everywhere.
_STDLIB_TESTS = dict.fromkeys(("test", "tests", "idle_test"), "tests of the standard library")
_STDLIB_EXCLUDED = _STDLIB_TESTS | {"site-packages": INSTALLED, "dist-packages": INSTALLED}


@dataclass(frozen=True)
class FolderSource(Source):
    """The files of one language below a folder; `path` may also be a single file."""

    project_depth: int = 0  # how many leading folders name the project; 0: the folder is one project

    def chunks(self) -> tuple[list[Chunk], list[Skip]]:
        excluded = EXCLUDED_FOLDERS | (_STDLIB_EXCLUDED if self.origin.kind == "stdlib" else {})
        files, skipped = list_files(self.path, self.suffixes, self.options.max_file_bytes, excluded)
        chunks = [
            replace(chunk, members=tuple(file.name for file in files[chunk.first : chunk.first + chunk.count]))
            for chunk in make_chunks(self.index, [file.num_bytes for file in files])
        ]
        return chunks, [self._skip(skip.path, skip) for skip in skipped]

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        is_file = self.origin.kind == "file"
        for name in chunk.members:
            content = read_regular(self.path if is_file else self.path / name, name, self.options.max_file_bytes)
            if isinstance(content, Skipped):
                yield self._skip(name, content)
            else:
                path = self.prefix if is_file else f"{self.prefix}/{printable(name)}"
                yield Document(path, self._project(name), content)

    def _project(self, name: str) -> str:
        if not self.project_depth:
            return self.prefix
        parts = printable(name).split("/")
        if len(parts) <= self.project_depth:
            parts[-1] = Path(parts[-1]).stem  # a module of one file: `argparse.py` is the project argparse
        return "/".join(parts[: self.project_depth])

    def _skip(self, name: str, skipped: Skipped) -> Skip:
        path = self.prefix if self.origin.kind == "file" else f"{self.prefix}/{display_path(name)}"
        return Skip(path, self._project(name), skipped.reason, skipped.detail)
