"""Many files to a corpus: the steps of `rarename prepare`, in order.

    find sources ─▶ parse ─▶ select ─▶ count ─▶ rank ─▶ encode ─▶ write values
     (downloads)   (shards)           (shards)         (shards)

Parsing, counting and encoding are tasks on shards (`shards.py`): files in, files out, on any
`concurrent.futures.Executor`. Selection uses the signatures of all files, ranking uses hashes and counts. So memory is
limited to a shard and a few bytes for each file and each distinct value.

Shards depend on the sources alone, so the corpus does not depend on the number of processes. Intermediate files are in
`CORPUS/.work`. The manifest is written last: a corpus without one is unfinished.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rarename.corpus.document import Chunk, ChunkLimits, Skip, Source, SourceOptions
from rarename.corpus.selection import Selection, select_files
from rarename.corpus.shards import ParseOptions, Shard, count_shard, encode_shard, parse_shard, type_counts
from rarename.corpus.sources import plan, resolve
from rarename.corpus.splits import read_splits
from rarename.corpus.store import (
    FORMAT,
    MANIFEST,
    ROLE_GROUPS,
    VERSION,
    content_digest,
    read_manifest,
    read_table,
    write_table,
)
from rarename.corpus.value_ranks import rank_values
from rarename.corpus.workers import WORKER_DIED, Task, Workers, process_pool
from rarename.errors import CorpusError, RarenameError, UsageError
from rarename.io import locked, replacing, write_text
from rarename.progress import NullProgress, Progress
from rarename.syntax import language_named

SHARD_LIMITS = ChunkLimits(members=100, num_bytes=2_000_000)
"""Small enough for little memory, large enough that values occur more than once."""

VALUES_PER_BATCH = 25_000
"""How many values are written at a time."""

EXAMPLES_PER_REASON = 3


@dataclass(frozen=True)
class PrepareConfig:
    """Everything that determines the content of a corpus, besides its sources."""

    language: str
    """A key of `syntax.LANGUAGES`."""
    seed: int = 0
    """Draws the split of each project."""
    max_nodes: int = 100_000
    """Larger trees are left out: they are data or bundles, and one of them outweighs a hundred files."""
    keep_minified: bool = False
    """Keep minified files. Their names carry no meaning."""
    keep_near_duplicates: bool = False
    """Keep files that are nearly the same as others."""
    splits: Path | None = None
    """A list of projects and their splits; the split of any other project is drawn."""
    sources: SourceOptions = field(default_factory=SourceOptions)

    def __post_init__(self) -> None:
        language_named(self.language)
        if self.max_nodes < 1:
            raise UsageError(f"max_nodes is {self.max_nodes}; expected 1 or more")


def prepare(
    corpus: str | Path,
    specs: Sequence[str],
    config: PrepareConfig,
    jobs: int = 1,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Make a corpus, or resume making it; returns its manifest.

    The work is done in the calling process, with more than one job in so many new processes, or on a given executor
    with `jobs` workers. New processes import the main module, so a script must call this under
    `if __name__ == "__main__":`.
    """
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}; expected 1 or more")
    corpus, progress = Path(corpus), progress or NullProgress()
    request = {
        "sources": list(specs),
        "settings": json.loads(json.dumps(asdict(config), default=str)),
        "lists": _list_digests(specs, config),
    }
    if corpus.exists() and not corpus.is_dir():
        raise CorpusError(f"{corpus} is a file; choose another folder")
    if (corpus / MANIFEST).exists():
        manifest = read_manifest(corpus)
        if manifest["request"] == request:
            progress.log(f"{corpus} is already finished; nothing was done")
            return manifest
        raise CorpusError(f"{corpus} is a corpus made from another request; choose another folder or remove it")
    work = corpus / ".work"
    if corpus.exists() and not work.is_dir() and any(corpus.iterdir()):
        raise CorpusError(f"{corpus} exists and is not a corpus; choose another folder")
    work.mkdir(parents=True, exist_ok=True)
    with (
        locked(work / "lock", f"another process is preparing {corpus}; wait for it or stop it"),
        Workers(jobs, executor, progress) as workers,
    ):
        return _Build(corpus, work, specs, config, request, workers, progress).run()


def _list_digests(specs: Sequence[str], config: PrepareConfig) -> dict[str, str]:
    """The digests of all lists that the user named: with an edited list the request is another one."""
    options = config.sources
    lists = [Path(spec[1:]) for spec in specs if spec.startswith("@")]
    lists += [path for path in (config.splits, options.duplicate_clusters) if path is not None]
    lists += [*options.allow_lists, *options.record_paths]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in lists if path.is_file()}


@dataclass(frozen=True)
class _Build:
    """One run of `prepare`."""

    corpus: Path
    work: Path
    specs: Sequence[str]
    config: PrepareConfig
    request: dict[str, Any]
    workers: Workers
    progress: Progress

    def run(self) -> dict[str, Any]:
        self._claim()
        sources, reads, skips = self._find_sources()
        shards = [Shard(self.work, number) for number in range(len(reads))]
        self._parse(shards, reads)
        skips += [Skip(**skip) for shard in shards for skip in json.loads(shard.skips.read_text())]
        given_splits = read_splits(self.config.splits) if self.config.splits else {}
        self.progress.start("selecting files", 1)
        selection = select_files(shards, given_splits, self.config.seed, self.config.keep_near_duplicates)
        self.progress.advance()
        if not any(counts["files"] for counts in selection.counts.values()):
            reasons = Counter(skip.reason for skip in skips).most_common(5)
            listed = "; ".join(f"{count} × {reason}" for reason, count in reasons)
            raise CorpusError(f"no file is left for a corpus ({listed})")
        tasks = zip(shards, selection.shards, strict=True)
        self._run_stage("counting values", [Task(count_shard, task, task[0].counts) for task in tasks])
        types = self._rank_types(shards)
        ranks = self.work / "ranks.npy"
        rank_values([shard.counts for shard in shards], ranks, self.work / "counts.npy", self.progress)
        tasks = zip(shards, selection.shards, strict=True)
        self._run_stage(
            "writing splits",
            [Task(encode_shard, (*task, ranks, types, self.corpus), task[0].ranked) for task in tasks],
        )
        num_values = self._write_values(shards)
        return self._finish(sources, skips + selection.skips, selection, len(types), num_values)

    def _claim(self) -> None:
        """Make sure that unfinished work in the folder belongs to this request."""
        claim = self.work / "request.json"
        text = json.dumps(self.request, indent=1)
        if claim.exists() and claim.read_text(encoding="utf-8") != text:
            if any(self.work.glob("*.skips.json")):
                raise CorpusError(
                    f"{self.corpus} is the unfinished corpus of another request; remove the folder to start again"
                )
            # Nothing was parsed for the other request: it was a mistake and has been corrected.
            (self.work / "listing.sha256").unlink(missing_ok=True)
        write_text(claim, text)

    def _find_sources(self) -> tuple[list[Source], list[list[tuple[Source, Chunk]]], list[Skip]]:
        """The sources, what each shard reads, and what is skipped already."""
        language = language_named(self.config.language)
        sources, missing = resolve(self.specs, language, self.work, self.config.sources, self.progress)
        chunks, skips = plan(sources, SHARD_LIMITS, self.progress)
        reads: list[list[tuple[Source, Chunk]]] = []
        listing = hashlib.sha256()
        num_files = num_bytes = 0
        for chunk in chunks:
            listing.update(json.dumps(asdict(chunk)).encode())
            num_files, num_bytes = num_files + chunk.count, num_bytes + chunk.num_bytes
            if not reads or num_files > SHARD_LIMITS.members or num_bytes > SHARD_LIMITS.num_bytes:
                reads.append([])
                num_files, num_bytes = chunk.count, chunk.num_bytes
            reads[-1].append((sources[chunk.source], chunk))
        fingerprint = self.work / "listing.sha256"
        if fingerprint.exists() and fingerprint.read_text() != listing.hexdigest():
            raise CorpusError(f"the files have changed since {self.corpus} was begun; remove the folder to start again")
        write_text(fingerprint, listing.hexdigest())
        return sources, reads, missing + skips

    def _parse(self, shards: Sequence[Shard], reads: Sequence[list[tuple[Source, Chunk]]]) -> None:
        options = ParseOptions(self.config.language, self.config.max_nodes, self.config.keep_minified)
        tasks = [
            Task(parse_shard, (shard, read, options), shard.skips, sum(chunk.count for _, chunk in read))
            for shard, read in zip(shards, reads, strict=True)
        ]
        self._start_stage("parsing files", tasks)
        while not all(task.result.exists() for task in tasks):
            try:
                self.workers.run(tasks)
            except BrokenExecutor:
                self.workers.restart()
                for shard, task in zip(shards, tasks, strict=True):
                    if shard.current.exists() and not task.result.exists():
                        self._parse_alone(shard, task)

    def _parse_alone(self, shard: Shard, task: Task) -> None:
        """Parse a shard in a process of its own. If the process dies, note which document killed it."""
        try:
            with process_pool(1) as pool:
                pool.submit(task.function, *task.arguments).result()
            self.progress.advance(task.num_steps)
        except BrokenExecutor:
            culprit = shard.current.read_text(encoding="utf-8")
            known = shard.crashed.read_text(encoding="utf-8") if shard.crashed.exists() else ""
            if culprit in known.split("\n"):
                raise RarenameError(f"processes die while reading {culprit}; is there enough memory?") from None
            self.progress.log(f"{culprit}: the parser crashed; the file is skipped")
            write_text(shard.crashed, f"{known}{culprit}\n")

    def _start_stage(self, title: str, tasks: Sequence[Task]) -> None:
        self.progress.start(title, sum(task.num_steps for task in tasks))
        self.progress.advance(sum(task.num_steps for task in tasks if task.result.exists()))

    def _run_stage(self, title: str, tasks: Sequence[Task]) -> None:
        self._start_stage(title, tasks)
        try:
            self.workers.run(tasks)
        except BrokenExecutor:
            raise RarenameError(WORKER_DIED) from None

    def _rank_types(self, shards: Sequence[Shard]) -> list[str]:
        """Write the node types by their frequency in training."""
        counts: Counter[str] = Counter()
        for shard in shards:
            counts.update(type_counts(shard))
        types = sorted(counts, key=lambda name: (-counts[name], name))
        columns = {
            "type": pa.array(types, pa.string()),
            "count": pa.array([counts[name] for name in types], pa.int64()),
        }
        write_table(self.corpus / "types.arrow", pa.table(columns))
        return types

    def _write_values(self, shards: Sequence[Shard]) -> int:
        """Write every value by its rank; returns the number of values."""
        counts = np.load(self.work / "counts.npy", mmap_mode="r")
        self.progress.start("writing values", len(counts))
        schema = pa.schema([("value", pa.large_string()), *((group, pa.int64()) for group in ROLE_GROUPS)])
        with (
            replacing(self.corpus / "values.arrow") as path,
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, schema) as writer,
        ):
            for start in range(0, len(counts), VALUES_PER_BATCH):
                batch = counts[start : start + VALUES_PER_BATCH]
                found = pa.concat_tables([_ranks_between(shard, start, start + len(batch)) for shard in shards])
                order = pa.array(np.argsort(found.column("rank").to_numpy()))
                columns = [found.column("value").take(order).combine_chunks()]
                columns += [pa.array(batch[group].astype(np.int64)) for group in ROLE_GROUPS]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                self.progress.advance(len(batch))
        return len(counts)

    def _finish(
        self, sources: Sequence[Source], skips: Sequence[Skip], selection: Selection, num_types: int, num_values: int
    ) -> dict[str, Any]:
        """Write what was skipped and the manifest; remove the intermediate files."""
        write_text(self.corpus / "skipped.jsonl", "".join(json.dumps(asdict(skip)) + "\n" for skip in skips))
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "language": self.config.language,
            "request": self.request,
            "sources": [asdict(source.origin) for source in sources],
            "splits": selection.counts,
            "types": num_types,
            "values": num_values,
            "digest": content_digest(self.corpus),
            "skipped": _count_skips(skips),
        }
        write_text(self.corpus / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        shutil.rmtree(self.work, ignore_errors=True)
        return manifest


def _ranks_between(shard: Shard, start: int, stop: int) -> pa.Table:
    """The values of a range of ranks that a shard owns; copied, so that the file does not stay mapped."""
    table = read_table(shard.ranked)
    first, last = np.searchsorted(table.column("rank").to_numpy(), [start, stop]).tolist()
    return table.take(pa.array(np.arange(first, last)))


def _count_skips(skips: Sequence[Skip]) -> dict[str, dict[str, Any]]:
    """The count of each reason, the most frequent first, with examples."""
    examples: dict[str, list[str]] = {}
    for skip in skips:
        examples.setdefault(skip.reason, []).append(f"{skip.path}: {skip.detail}" if skip.detail else skip.path)
    by_count = sorted(examples.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: {"count": len(found), "examples": found[:EXAMPLES_PER_REASON]} for reason, found in by_count}
