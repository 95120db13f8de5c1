"""Many files to a corpus: the steps of `rarename prepare`, in order.

    find the sources ─▶ parse ─▶ choose ─▶ count ─▶ rank ─▶ encode ─▶ name
      (downloads)      (shards)            (shards)         (shards)

Parsing, counting and encoding work shard by shard in many processes (`shards.py`). Choosing looks at all
files at once, but only at their signatures; ranking only at hashes and counts. So memory is bounded by a
shard and a few bytes for each file and each distinct value.

Shards depend on the sources alone, so the corpus does not depend on the number of processes. All work goes
on in `CORPUS/.work`; the manifest is written last, and a corpus without one is unfinished.
"""

import fcntl
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.documents import Chunk, ChunkLimits, Skip, Source, SourceOptions
from rarename.corpus.duplicates import NUM_HASHES, clusters
from rarename.corpus.ranks import rank_values
from rarename.corpus.shards import (
    DROPPED,
    SPLITS,
    ParseSettings,
    ShardFiles,
    count_shard,
    encode_shard,
    parse_shard,
    type_counts,
)
from rarename.corpus.sources import plan, resolve
from rarename.corpus.splits import assign, read_splits
from rarename.corpus.store import (
    COUNTED,
    FORMAT,
    MANIFEST,
    VERSION,
    content_digest,
    read_manifest,
    read_table,
    write_table,
)
from rarename.corpus.workers import Workers
from rarename.errors import CorpusError, RarenameError, UsageError
from rarename.io import replacing, write_text
from rarename.progress import NullProgress, Progress
from rarename.syntax import language_named

SHARD = ChunkLimits(members=100, num_bytes=2_000_000)
"""The size of a shard: small enough for little memory, large enough that its values repeat."""

VALUES_AT_ONCE = 25_000
"""How many values are named at a time."""

NEAR_DUPLICATE = "near-duplicate"


@dataclass(frozen=True)
class PrepareSettings:
    """All that decides what a corpus contains, besides its sources."""

    language: str
    """A key of `syntax.LANGUAGES`."""
    seed: int = 0
    """Decides which project goes to which split."""
    max_nodes: int = 100_000
    """Larger trees are left out: they are data or bundles, and one of them outweighs a hundred files."""
    keep_minified: bool = False
    """Keep files that a program has squeezed: their names say nothing."""
    keep_near_duplicates: bool = False
    """Keep files that are nearly the same as others."""
    splits: Path | None = None
    """A file that says which project belongs to which split; other projects are drawn."""
    sources: SourceOptions = field(default_factory=SourceOptions)

    def __post_init__(self) -> None:
        if self.max_nodes < 1:
            raise UsageError(f"max_nodes is {self.max_nodes}; expected 1 or more")


@dataclass(frozen=True)
class Selection:
    """Which file goes where, shard by shard."""

    splits: list[NDArray[np.int8]]
    """The index of each file's split, or `DROPPED`."""
    keeps_function: list[NDArray[np.bool_]]
    skips: list[Skip]
    summary: dict[str, dict[str, int]]
    """The counts of each split."""


def prepare(
    corpus: str | Path,
    specs: Sequence[str],
    settings: PrepareSettings,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Make a corpus, or go on making it; returns its manifest.

    With more than one job a script must call this under `if __name__ == "__main__":`, as with any use of
    Python's process pools.
    """
    corpus, progress = Path(corpus), progress or NullProgress()
    language_named(settings.language)
    request = {
        "sources": list(specs),
        "settings": json.loads(json.dumps(asdict(settings), default=str)),
        "lists": _digests(specs, settings),
    }
    if corpus.exists() and not corpus.is_dir():
        raise CorpusError(f"{corpus} is a file; choose another folder")
    if (corpus / MANIFEST).exists():
        manifest = read_manifest(corpus)
        if manifest["request"] == request:
            progress.log(f"{corpus} is finished already; nothing was done")
            return manifest
        raise CorpusError(f"{corpus} holds a corpus made from another request; choose another folder or remove it")
    if corpus.exists() and not (corpus / ".work").is_dir() and any(corpus.iterdir()):
        raise CorpusError(f"{corpus} exists and is no corpus; choose another folder")
    work = corpus / ".work"
    work.mkdir(parents=True, exist_ok=True)
    with _locked(work):
        return _Preparation(corpus, work, specs, settings, request, jobs, progress).run()


def _digests(specs: Sequence[str], settings: PrepareSettings) -> dict[str, str]:
    """The content of all files that say what the corpus is made from: edited, they are another request."""
    options = settings.sources
    named = [Path(spec[1:]) for spec in specs if spec.startswith("@")]
    named += [path for path in (settings.splits, options.duplicates) if path is not None]
    named += [*options.allowed, *options.paths]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in named if path.is_file()}


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Keep a second `prepare` out of the same folder."""
    with (work / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"another process is preparing {work.parent}; wait for it or stop it") from error
        yield


class _Preparation:
    """The making of one corpus."""

    def __init__(
        self,
        corpus: Path,
        work: Path,
        specs: Sequence[str],
        settings: PrepareSettings,
        request: dict[str, Any],
        jobs: int,
        progress: Progress,
    ) -> None:
        self.corpus, self.work, self.specs, self.settings = corpus, work, specs, settings
        self.request, self.progress = request, progress
        self.workers = Workers(jobs)

    def run(self) -> dict[str, Any]:
        self._claim()
        with self.workers:
            sources, reads, skips = self._find()
            shards = [ShardFiles(self.work, number) for number in range(len(reads))]
            self._parse(shards, reads)
            skips += [Skip(**values) for shard in shards for values in json.loads(shard.skips.read_text())]
            selection = self._choose(shards)
            if not any(counts["files"] for counts in selection.summary.values()):
                raise CorpusError(_nothing_left(skips))
            self._count(shards, selection)
            types = self._rank(shards)
            self._encode(shards, selection, types)
            num_values = self._name(shards)
        return self._finish(sources, skips + selection.skips, selection, len(types), num_values)

    def _claim(self) -> None:
        """Make sure that unfinished work found here belongs to this request."""
        claim = self.work / "request.json"
        text = json.dumps(self.request, indent=1)
        if claim.exists() and claim.read_text(encoding="utf-8") != text:
            if any(self.work.glob("*.skips.json")):
                raise CorpusError(
                    f"{self.corpus} holds the unfinished corpus of another request; remove the folder to start anew"
                )
            # Nothing was parsed for it: a mistake that has been corrected.
            (self.work / "listing.sha256").unlink(missing_ok=True)
        write_text(claim, text)

    def _find(self) -> tuple[list[Source], list[list[tuple[Source, Chunk]]], list[Skip]]:
        """Find the sources, and cut their files into shards."""
        language = language_named(self.settings.language)
        resolved = resolve(self.specs, language, self.work, self.settings.sources, self.progress)
        planned = plan(resolved.sources, SHARD, self.progress)
        reads: list[list[tuple[Source, Chunk]]] = []
        listing = hashlib.sha256()
        files = size = 0
        for chunk in planned.chunks:
            listing.update(json.dumps(chunk.to_json()).encode())
            files, size = files + chunk.count, size + chunk.num_bytes
            if not reads or files > SHARD.members or size > SHARD.num_bytes:
                reads.append([])
                files, size = chunk.count, chunk.num_bytes
            reads[-1].append((resolved.sources[chunk.source], chunk))
        fingerprint = self.work / "listing.sha256"
        if fingerprint.exists() and fingerprint.read_text() != listing.hexdigest():
            raise CorpusError(f"the files have changed since {self.corpus} was begun; remove the folder to start anew")
        write_text(fingerprint, listing.hexdigest())
        return resolved.sources, reads, resolved.skips + planned.skips

    def _parse(self, shards: Sequence[ShardFiles], reads: Sequence[list[tuple[Source, Chunk]]]) -> None:
        settings = ParseSettings(self.settings.language, self.settings.max_nodes, self.settings.keep_minified)
        weights = [sum(chunk.count for _, chunk in read) for read in reads]
        self.progress.start("parsing files", sum(weights))
        todo = []
        for shard, read, weight in zip(shards, reads, weights, strict=True):
            if shard.skips.exists():
                self.progress.advance(weight)
            else:
                todo.append((weight, (shard, read, settings)))
        while todo:
            broken = self.workers.run(parse_shard, todo, self.progress)
            todo = [task for task in todo if not task[1][0].skips.exists()]
            if broken:
                self._blame(todo, settings)

    def _blame(self, todo: Sequence[tuple[int, tuple[Any, ...]]], settings: ParseSettings) -> None:
        """A process died. Try the files that were being parsed one process at a time; note which kill it."""
        for weight, arguments in todo:
            shard = arguments[0]
            if not shard.current.exists():
                continue
            with Workers(1, always_apart=True) as alone:
                if alone.run(parse_shard, [(weight, arguments)], self.progress):
                    culprit = shard.current.read_text(encoding="utf-8")
                    self.progress.log(f"{culprit}: the parser crashed; the file is skipped")
                    known = shard.crashed.read_text(encoding="utf-8") if shard.crashed.exists() else ""
                    if culprit in known.split("\n"):
                        raise RarenameError(f"processes die while reading {culprit}; is there enough memory?")
                    write_text(shard.crashed, f"{known}{culprit}\n")

    def _choose(self, shards: Sequence[ShardFiles]) -> Selection:
        self.progress.start("choosing files", len(shards))
        files = _Files(shards, self.progress)
        leaders = np.arange(len(files.paths))
        if not self.settings.keep_near_duplicates:
            # Ready-made examples come in near-duplicate pairs on purpose: with the bug and without.
            ordinary = np.nonzero(~files.is_example)[0]
            leaders[ordinary] = ordinary[clusters(files.signatures[ordinary])]
        is_kept = leaders == np.arange(len(leaders))
        sizes: Counter[str] = Counter()
        for project, size, kept in zip(files.projects, files.sizes.tolist(), is_kept.tolist(), strict=True):
            sizes[project] += size if kept else 0
        given = read_splits(self.settings.splits) if self.settings.splits else {}
        drawn = {project: size for project, size in sizes.items() if size and project not in given}
        split_of = assign(drawn, self.settings.seed) | given
        codes = {project: SPLITS.index(split) for project, split in split_of.items()}
        splits = np.array([codes.get(project, DROPPED) for project in files.projects], dtype=np.int8)
        splits[~is_kept] = DROPPED
        keeps_function = _distinct_functions(files, splits)
        skips = [
            Skip(files.paths[file], files.projects[file], NEAR_DUPLICATE, f"of {files.paths[leaders[file]]}")
            for file in np.nonzero(~is_kept)[0].tolist()
        ]
        function_splits = splits[files.function_files]
        summary = {
            str(split): {
                "projects": len({files.projects[file] for file in np.nonzero(splits == code)[0].tolist()}),
                "files": int((splits == code).sum()),
                "nodes": int(files.sizes[splits == code].sum()),
                "functions": int(keeps_function[function_splits == code].sum()),
                "duplicate_functions": int((~keeps_function[function_splits == code]).sum()),
            }
            for code, split in enumerate(SPLITS)
        }
        return Selection(
            np.split(splits, files.shard_starts),
            np.split(keeps_function, files.function_starts),
            skips,
            summary,
        )

    def _count(self, shards: Sequence[ShardFiles], selection: Selection) -> None:
        self.progress.start("counting values", len(shards))
        tasks = [
            (1, (shard, splits)) for shard, splits in zip(shards, selection.splits, strict=True)
            if not shard.counts.exists()
        ]  # fmt: skip
        self.progress.advance(len(shards) - len(tasks))
        self.workers.run_all(count_shard, tasks, self.progress)

    def _rank(self, shards: Sequence[ShardFiles]) -> list[str]:
        """Rank values and node types by their frequency in training; returns the types."""
        types: Counter[str] = Counter()
        for shard in shards:
            types.update(type_counts(shard))
        names = sorted(types, key=lambda name: (-types[name], name))
        table = pa.table(
            {"type": pa.array(names, pa.string()), "count": pa.array([types[name] for name in names], pa.int64())}
        )
        write_table(self.corpus / "types.arrow", table)
        rank_values(shards, self.work / "ranks.npy", self.work / "counts.npy", self.progress)
        return names

    def _encode(self, shards: Sequence[ShardFiles], selection: Selection, types: list[str]) -> None:
        self.progress.start("writing splits", len(shards))
        chosen = zip(shards, selection.splits, selection.keeps_function, strict=True)
        tasks = [
            (1, (shard, splits, keeps, self.work / "ranks.npy", types, self.corpus))
            for shard, splits, keeps in chosen if not shard.ranked.exists()
        ]  # fmt: skip
        self.progress.advance(len(shards) - len(tasks))
        self.workers.run_all(encode_shard, tasks, self.progress)

    def _name(self, shards: Sequence[ShardFiles]) -> int:
        """Write every value by its rank; returns how many there are."""
        num_values = len(np.load(self.work / "counts.npy", mmap_mode="r"))
        self.progress.start("writing values", num_values)
        schema = pa.schema([("value", pa.large_string()), *((group, pa.int64()) for group in COUNTED)])
        with (
            replacing(self.corpus / "values.arrow") as path,
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, schema) as writer,
        ):
            for start in range(0, num_values, VALUES_AT_ONCE):
                stop = min(start + VALUES_AT_ONCE, num_values)
                counts = np.load(self.work / "counts.npy", mmap_mode="r")[start:stop]
                found = pa.concat_tables([_between(read_table(shard.ranked), start, stop) for shard in shards])
                order = pa.array(np.argsort(found.column("rank").to_numpy()))
                columns = [found.column("value").take(order).combine_chunks()]
                columns += [pa.array(counts[group].astype(np.int64)) for group in COUNTED]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                self.progress.advance(stop - start)
        return num_values

    def _finish(
        self,
        sources: Sequence[Source],
        skips: Sequence[Skip],
        selection: Selection,
        num_types: int,
        num_values: int,
    ) -> dict[str, Any]:
        """Write what was skipped and the manifest, and clear the work away."""
        lines = "".join(json.dumps(asdict(skip)) + "\n" for skip in skips)
        write_text(self.corpus / "skipped.jsonl", lines)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "language": self.settings.language,
            "request": self.request,
            "sources": [source.origin.to_json() for source in sources],
            "splits": selection.summary,
            "types": num_types,
            "values": num_values,
            "digest": content_digest(self.corpus),
            "skipped": _summary(skips),
        }
        write_text(self.corpus / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        shutil.rmtree(self.work, ignore_errors=True)
        return manifest


class _Files:
    """What choosing needs to know of all files of a corpus, as flat columns."""

    def __init__(self, shards: Sequence[ShardFiles], progress: Progress) -> None:
        self.paths: list[str] = []
        self.projects: list[str] = []
        signatures, sizes, examples, hashes, per_file = [], [], [], [], []
        for shard in shards:
            table = read_table(shard.nodes)
            self.paths += table.column("path").to_pylist()
            self.projects += table.column("project").to_pylist()
            flat = table.column("signature").combine_chunks().flatten().to_numpy()
            signatures.append(flat.reshape(-1, NUM_HASHES))
            sizes.append(np.diff(table.column("types").combine_chunks().offsets.to_numpy()))
            lists = table.column("function_hashes").combine_chunks()
            hashes.append(lists.flatten().to_numpy())
            per_file.append(np.diff(lists.offsets.to_numpy()))
            has_bugs = "bug_location" in table.column_names
            examples.append(
                table.column("bug_location").is_valid().to_numpy() if has_bugs else np.zeros(table.num_rows, bool)
            )
            progress.advance()
        self.signatures = np.concatenate(signatures)
        self.sizes = np.concatenate(sizes).astype(np.int64)
        self.is_example = np.concatenate(examples)
        self.function_hashes = np.concatenate(hashes)
        self.function_files = np.repeat(np.arange(len(self.paths)), np.concatenate(per_file))
        self.shard_starts = np.cumsum([len(part) for part in sizes])[:-1]
        self.function_starts = np.cumsum([len(part) for part in hashes])[:-1]


def _distinct_functions(files: _Files, splits: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Keep one of identical functions: training gives way to validation, validation to test."""
    code = splits[files.function_files]
    in_corpus = np.nonzero(code != DROPPED)[0]
    # The later a split stands in SPLITS, the sooner its functions are taken.
    order = in_corpus[np.lexsort((in_corpus, -code[in_corpus], files.function_hashes[in_corpus]))]
    hashes = files.function_hashes[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    keeps = np.zeros(len(code), dtype=bool)
    keeps[order[is_first]] = True
    keeps |= files.is_example[files.function_files]
    return keeps


def _between(table: pa.Table, start: int, stop: int) -> pa.Table:
    """The rows with ranks of a range, of a table that is sorted by rank; copied, so that the file can be let go."""
    low, high = np.searchsorted(table.column("rank").to_numpy(), [start, stop]).tolist()
    return table.take(pa.array(np.arange(low, high)))


def _summary(skips: Sequence[Skip], examples: int = 3) -> dict[str, dict[str, Any]]:
    """How often each reason occurred, the most frequent first, with examples."""
    counts = Counter(skip.reason for skip in skips)
    return {
        reason: {
            "count": count,
            "examples": [f"{s.path}: {s.detail}" if s.detail else s.path for s in skips if s.reason == reason][
                :examples
            ],
        }
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    }


def _nothing_left(skips: Sequence[Skip]) -> str:
    reasons = "; ".join(f"{count} × {reason}" for reason, count in Counter(s.reason for s in skips).most_common(5))
    return f"no file is left for a corpus ({reasons})"
