"""Data sets in Parquet: a row is a file or a function. A chunk is a row group, or a part of a large one."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rarename.corpus.archives import BROKEN, OVER_BUDGET
from rarename.corpus.document import SHARD_FILES, Chunk, Document, Skip, Source, SourceOptions
from rarename.discovery import over_limit, printable
from rarename.errors import SourceError

PARQUET = "parquet:"
BUFFER_BYTES = 1_000_000  # so that a large row group is not held in memory
CHUNK_ROWS = 1000  # rows before a chunk are decoded again with it: fewer rows would cost time in large row groups
# The Stack, github-code, CodeSearchNet; the first column that exists is used.
DEFAULT_COLUMNS = {
    "text_column": ("content", "code", "whole_func_string"),
    "path_column": ("max_stars_repo_path", "path", "func_path_in_repository"),
    "project_column": ("max_stars_repo_name", "repo_name", "repository_name"),
}


def parquet_files(path: str) -> list[str]:
    """The files of `parquet:PATH`: a file, all below a folder, or those that a glob matches."""
    found = Path(path).rglob("*.parquet") if Path(path).is_dir() else map(Path, glob(path, recursive=True))  # noqa: PTH207 (may be absolute)
    files = sorted(str(file) for file in found if file.is_file())
    if not files and Path(path).is_file():  # its name has the characters of a glob
        files = [path]
    if not files:
        raise SourceError(f"{PARQUET}{path}: no such file, nor a folder or glob with Parquet files")
    return files


def find_columns(path: Path, options: SourceOptions) -> tuple[str, str, str]:
    """The columns of text, path and project."""
    try:
        names = pq.read_schema(path).names
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path} is not a Parquet file: {error}") from None
    found = []
    for option, defaults in DEFAULT_COLUMNS.items():
        wanted = (given,) if (given := getattr(options, option)) else defaults
        column = next((name for name in wanted if names.count(name) == 1), None)
        if column is None:
            advice = f"it has {', '.join(names)}; choose one with --{option.replace('_', '-')}"
            raise SourceError(f"{path} has no column {' or '.join(wanted)}; {advice}")
        found.append(column)
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class ParquetSource(Source):
    """One Parquet file. The path of a row is `project/path#FILE:ROW`, because a file may have many functions."""

    columns: tuple[str, str, str] = ("", "", "")  # text, path, project

    def chunks(self) -> tuple[list[Chunk], list[Skip]]:
        chunks = []
        metadata = pq.read_metadata(self.path)
        if metadata.num_rows > self.path.stat().st_size:
            return [], [self.skip_rest(OVER_BUDGET, f"{metadata.num_rows} rows, more than bytes")]
        for start, group in self._groups(metadata):
            for first in range(0, group.num_rows, CHUNK_ROWS):
                count = min(CHUNK_ROWS, group.num_rows - first)
                num_bytes = group.total_byte_size * count // group.num_rows
                chunks.append(Chunk(self.index, start + first, count, num_bytes, 0))
        return chunks, []

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        left = self.budget()
        try:
            for item in self._read(chunk):
                yield item
                left -= len(item.content) if isinstance(item, Document) and isinstance(item.content, bytes) else 0
                if left < 0:
                    yield self.skip_rest(OVER_BUDGET, f"rows from {chunk.first + 1}: over {self.budget()} bytes")
                    return
        except (OSError, pa.ArrowException, ValueError) as error:
            yield self.skip_rest(BROKEN, f"rows from {chunk.first + 1}: {error}")

    def _read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        with pq.ParquetFile(self.path, buffer_size=BUFFER_BYTES) as file:
            starts = [start for start, _ in self._groups(file.metadata)]
            group = bisect_right(starts, chunk.first) - 1
            start, columns = starts[group], list(dict.fromkeys(self.columns))
            for batch in file.iter_batches(SHARD_FILES, row_groups=[group], columns=columns):
                skipped = max(0, chunk.first - start)
                rows = batch.slice(skipped, max(0, chunk.first + chunk.count - start - skipped))
                values = zip(*(rows.column(name).to_pylist() for name in self.columns), strict=True)
                for row, (text, path, project) in enumerate(values, start + skipped + 1):
                    if (item := self._document(row, text, path, project)) is not None:
                        yield item
                start += len(batch)
                if start >= chunk.first + chunk.count:
                    break

    def _groups(self, metadata: pq.FileMetaData) -> list[tuple[int, pq.RowGroupMetaData]]:
        """The row groups, each with the number of rows before it."""
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return list(zip(accumulate((group.num_rows for group in groups), initial=0), groups, strict=False))

    def _document(self, row: int, text: object, path: object, project: object) -> Document | Skip | None:
        position = f"{self.prefix}:{row}"
        if not (isinstance(text, str | bytes) and isinstance(path, str) and isinstance(project, str) and project):
            return Skip(position, self.prefix, "malformed record", f"expected text in {', '.join(self.columns)}")
        if not path.lower().endswith(self.suffixes):
            return None
        project = printable(project)
        name = f"{project}/{printable(path)}#{position}"
        content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if len(content) > self.options.max_file_bytes:
            return Skip(name, project, over_limit(self.options.max_file_bytes))
        return Document(name, project, content)
