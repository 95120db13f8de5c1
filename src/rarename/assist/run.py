"""A check of many files: what is cached is read, the rest is computed, in this process or in several.

Files are computed in chunks of consecutive files, which do not depend on the number of processes; so the findings do
not either. Nothing here needs numpy or a parser: those are imported when a file has to be computed.
"""

import hashlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from rarename._version import __version__
from rarename.assist.cache import Cache
from rarename.assist.diagnostics import CheckResult
from rarename.assist.file_check import CheckedFile, FileCheck, result_of
from rarename.discovery import CHECKED, Files, Skipped, SourceFile
from rarename.errors import UsageError
from rarename.inference.model_folder import ModelFolder, default_threshold, model_digest, packaged_model
from rarename.progress import NullProgress, Progress
from rarename.syntax import Language, language_named

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rarename.assist.check import Checker

CHUNK_BYTES = 200_000  # of source text that is computed together: functions of similar length share a batch
MAX_CHUNK_FILES = 500
MIN_CHUNKS = 3  # with fewer, a process of its own would take more time to start than it saves
KEPT_CONFIDENCE = 0.5  # findings below are computed and kept only if somebody asks for them

Contents = list[tuple[str, bytes]]  # the language and the content of each file


@dataclass
class _Item:
    """A file, and what is known about it."""

    file: SourceFile | Skipped
    key: bytes = b""
    check: FileCheck | None = None


def _unknown(chunk: Sequence[_Item]) -> list[tuple[_Item, SourceFile]]:
    return [(each, each.file) for each in chunk if isinstance(each.file, SourceFile) and each.check is None]


class CheckRun:
    """Checks files with the models of some folders, one per language; without any, with those of the package."""

    def __init__(
        self,
        models: Sequence[Path] = (),
        *,
        jobs: int = 1,
        cache: Cache | None = None,
        checker: "Checker | None" = None,
    ) -> None:
        self._models, self._jobs, self._cache, self._given = tuple(models), jobs, cache, checker
        self._states: dict[str, str] = {}  # by language
        self._thresholds: dict[str, float] = {}

    @cached_property
    def _folders(self) -> dict[str, Path]:
        """The folder of each language's model."""
        if not self._models:
            return {language.name: packaged_model(language.name) for language in CHECKED}
        folders = {ModelFolder.load(path, "misuse").language.name: path for path in self._models}
        if len(folders) < len(self._models):
            raise UsageError("two models are for the same language; pass one per language")
        return folders

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that can be checked."""
        return self._given.languages if self._given else tuple(map(language_named, self._folders))

    def threshold(self, language: Language) -> float:
        """The confidence from which predictions in a language are reported by default."""
        if self._given:
            return self._given.threshold(language)
        if language.name not in self._thresholds:
            self._thresholds[language.name] = default_threshold(self._folder(language))
        return self._thresholds[language.name]

    def _folder(self, language: Language) -> Path:
        if language.name not in self._folders:
            raise UsageError(f"the model is for {', '.join(self._folders)}, not for {language.name}")
        return self._folders[language.name]

    def result(self, files: Files, progress: Progress | None = None, *, report_unused: bool = False) -> CheckResult:
        """Check all files."""
        started, progress = time.monotonic(), progress or NullProgress()
        progress.start("checking", len(files))
        checked = []
        for each in self.checked_files(files, report_unused=report_unused):
            checked.append(each)
            progress.advance()
        return self.put_together(checked, files, started)

    def put_together(self, checked: Sequence[CheckedFile], files: Files, started: float) -> CheckResult:
        """The result of all files that were checked, from a time of `time.monotonic`."""
        default = min(map(self.threshold, self.languages))
        return result_of(checked, files, default, time.monotonic() - started)

    def checked_files(
        self, files: Files, *, report_unused: bool = False, should_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[CheckedFile]:
        """Check the files, in their order, each as soon as it and those before it are known.

        Once `should_stop` is true, only the files that are known by then are left.
        """
        for chunk in self._computed(self._chunks(files), should_stop):
            for item in chunk:
                if isinstance(file := item.file, Skipped):
                    yield CheckedFile(file.path, [], [file])
                elif item.check is not None:
                    yield item.check.report(file.path, file.language.name, self._threshold_of(file), report_unused)

    def _threshold_of(self, file: SourceFile) -> float:
        return self.threshold(file.language) if file.min_confidence is None else file.min_confidence

    def _kept_confidence(self, file: SourceFile) -> float:
        return KEPT_CONFIDENCE if self._threshold_of(file) >= KEPT_CONFIDENCE else 0.0

    def _chunks(self, files: Files) -> Iterator[list[_Item]]:
        chunk: list[_Item] = []
        num_bytes = 0  # that are not known
        for file in files:
            item = _Item(file)
            if isinstance(file, SourceFile):
                if self._cache:
                    item.key = self._key(file)
                    item.check = _read(self._cache.get(item.key))
                num_bytes += 0 if item.check else len(file.content)
            chunk.append(item)
            if num_bytes >= CHUNK_BYTES or len(chunk) == MAX_CHUNK_FILES:
                yield chunk
                chunk, num_bytes = [], 0
        yield chunk

    def _key(self, file: SourceFile) -> bytes:
        """A hash of all that the result depends on."""
        state = f"{self._state(file.language)} {self._kept_confidence(file)}"
        return hashlib.blake2b(file.content, digest_size=20, key=hashlib.sha256(state.encode()).digest()).digest()

    def _state(self, language: Language) -> str:
        if language.name not in self._states:
            versions = f"{__version__} {_code_stamp()} {sys.version}"
            self._states[language.name] = f"{versions} {language.name} {model_digest(self._folder(language))}"
        return self._states[language.name]

    def _computed(self, chunks: Iterator[list[_Item]], should_stop: Callable[[], bool]) -> Iterator[list[_Item]]:
        """The chunks, in their order, with all that can be computed before `should_stop`."""
        first = list(islice(chunks, max(MIN_CHUNKS, self._jobs)))
        num_workers = min(self._jobs, sum(bool(_unknown(chunk)) for chunk in first))
        with ExitStack() as stack:
            pool = None
            if num_workers > 1 and len(first) >= MIN_CHUNKS and not self._given:
                from rarename.processes import process_pool

                pool = process_pool(num_workers)
                stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            waiting: deque[tuple[list[_Item], _Task]] = deque()
            for chunk in chain(first, chunks):
                waiting.append((chunk, self._submit(chunk, pool, should_stop)))
                if pool is None or len(waiting) > 2 * num_workers:
                    yield self._finish(*waiting.popleft())
                if should_stop():
                    break
            while waiting:
                yield self._finish(*waiting.popleft())

    def _submit(self, chunk: list[_Item], pool: "Executor | None", should_stop: Callable[[], bool]) -> "_Task":
        """Start to compute what is unknown; the task waits for the result, which is None after `should_stop`."""
        files = [file for _, file in _unknown(chunk)]
        if not files:
            return list
        contents = [(file.language.name, file.content) for file in files]
        kept = min(map(self._kept_confidence, files))
        if pool is None:
            return lambda: (self._given or _load(self._models)).check_contents(contents, kept, should_stop)
        from concurrent.futures import BrokenExecutor, wait

        future = pool.submit(_check_contents, self._models, contents, kept)

        def wait_for_result() -> list[FileCheck] | None:
            while not (future.done() or should_stop()):
                wait([future], timeout=0.1)
            try:
                return future.result() if future.done() else None
            except BrokenExecutor:
                message = "a process that checks files was killed, perhaps for lack of memory; try --jobs 1"
                raise UsageError(message) from None

        return wait_for_result

    def _finish(self, chunk: list[_Item], task: "_Task") -> list[_Item]:
        """Wait for what is computed, and cache it."""
        unknown = _unknown(chunk)
        for (item, _), check in zip(unknown, task() or [], strict=False):
            item.check = check
        if self._cache:
            checks = [(item.key, item.check) for item, _ in unknown if item.check and not item.check.gave_up]
            self._cache.put({key: check.to_json() for key, check in checks})
        return chunk


_Task = Callable[[], list[FileCheck] | None]


def _read(data: bytes | None) -> FileCheck | None:
    with suppress(ValueError, KeyError, TypeError):
        return None if data is None else FileCheck.from_json(data)
    return None


@cache
def _load(models: tuple[Path, ...]) -> "Checker":
    from rarename.assist.check import Checker

    return Checker.load(*models)


def _check_contents(models: tuple[Path, ...], contents: Contents, min_confidence: float) -> list[FileCheck] | None:
    """What a worker process does."""
    return _load(models).check_contents(contents, min_confidence)


def _code_stamp() -> str:
    """Changes whenever somebody changes this package without changing its version."""
    root = Path(__file__).parent.parent
    paths = [Path(folder) / name for folder, _, names in os.walk(root) for name in names if name.endswith(".py")]
    return hashlib.sha256(repr(sorted((str(path), path.stat().st_mtime_ns) for path in paths)).encode()).hexdigest()
