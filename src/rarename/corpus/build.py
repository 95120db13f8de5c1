"""Many files to a corpus: the steps of `rarename prepare`, in order.

    find sources ─▶ parse ─▶ collect ─▶ select ─▶ count ─▶ rank ─▶ encode ─▶ write values
     (downloads)   (shards)  (groups)            (groups)         (groups)

A step is many tasks, on any executor: one for each shard (a limited run of files), group of shards, or range of all
groups. Each holds a part of the corpus in memory. This process holds a few bytes for each project and near-duplicate.
Tasks depend on the sources alone, so the corpus does not depend on the number of processes. Intermediate files are in
`CORPUS/.work`. The manifest is written last: a corpus without one is unfinished.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rarename.corpus.document import SHARD_BYTES, SHARD_FILES, Chunk, PrepareConfig, Skip, Source, sha256
from rarename.corpus.groups import Group, collect_group, count_group, encode_group, make_groups
from rarename.corpus.paper_split import for_paper_split, read_owners
from rarename.corpus.selection import (
    find_duplicate_functions,
    find_near_duplicates,
    near_duplicate_skips,
    select_files,
)
from rarename.corpus.shards import Shard, parse_shard, read_lines
from rarename.corpus.sorted_rows import hash_ranges, map_rows
from rarename.corpus.sources import plan, resolve
from rarename.corpus.splits import read_splits
from rarename.corpus.store import FORMAT, MANIFEST, VERSION, content_digest, read_manifest
from rarename.corpus.value_ranks import (
    VALUES_PER_TASK,
    count_totals,
    first_ranks,
    join_values,
    rank_range,
    rank_types,
    write_values,
)
from rarename.corpus.workers import Task, Workers
from rarename.errors import CorpusError, UsageError
from rarename.io import locked, replacing, write_text
from rarename.progress import NullProgress, Progress
from rarename.syntax import language_named

__all__ = ["PrepareConfig", "prepare"]


def prepare(
    corpus: str | Path,
    specs: Sequence[str],
    config: PrepareConfig,
    jobs: int = 1,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Make a corpus, or resume making it; returns its manifest.

    One job runs in the calling process, several in as many new processes. A given executor takes their place.
    New processes import the main module, so call this under `if __name__ == "__main__":`.
    """
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}; expected 1 or more")
    corpus, progress = Path(corpus), progress or NullProgress()
    config = for_paper_split(config)
    settings = json.loads(json.dumps(asdict(config), default=str))
    for name in ("paper_split", "text_column", "path_column", "project_column"):
        if settings["sources"][name] is None:  # so that corpora made before this setting are still the same request
            del settings["sources"][name]
    request = {"sources": list(specs), "settings": settings, "lists": _list_digests(specs, config)}
    if corpus.exists() and not corpus.is_dir():
        raise CorpusError(f"{corpus} is a file; choose another folder")
    if (corpus / MANIFEST).exists():
        manifest = read_manifest(corpus)
        if manifest["request"] == request:
            _remove_leftovers(corpus)
            progress.log(f"{corpus} is already finished; nothing was done")
            return manifest
        raise CorpusError(f"{corpus} is a corpus made from another request; choose another folder or remove it")
    work = corpus / ".work"
    if corpus.exists() and not work.is_dir() and any(corpus.iterdir()):
        raise CorpusError(f"{corpus} exists and is not a corpus; choose another folder")
    work.mkdir(parents=True, exist_ok=True)
    message = f"another process is preparing {corpus}; wait for it or stop it"
    with locked(work / "lock", message), closing(Workers(jobs, executor, progress)) as workers:
        return _Build(corpus.absolute(), work.absolute(), _absolute(config), request, workers, progress).run()


def _absolute(config: PrepareConfig) -> PrepareConfig:
    """Workers may have another current folder."""
    options, clusters = config.sources, config.sources.duplicate_clusters
    allow_lists = tuple(path.absolute() for path in options.allow_lists)
    clusters = clusters and clusters.absolute()
    return replace(config, sources=replace(options, allow_lists=allow_lists, duplicate_clusters=clusters))


def _list_digests(specs: Sequence[str], config: PrepareConfig) -> dict[str, str]:
    """The digests of all lists that the user named: an edited list makes another request."""
    options = config.sources
    lists = [Path(spec[1:]) for spec in specs if spec.startswith("@")]
    lists += [path for path in (config.splits, options.duplicate_clusters) if path is not None]
    lists += [*options.allow_lists, *options.record_paths]
    if options.paper_split is not None:
        lists += sorted(path for path in options.paper_split.rglob("*") if path.suffix in (".txt", ".json"))
    return {str(path): sha256(path) for path in lists if path.is_file()}


@dataclass(frozen=True)
class _Build:
    corpus: Path
    work: Path
    config: PrepareConfig
    request: dict[str, Any]
    workers: Workers
    progress: Progress

    def run(self) -> dict[str, Any]:
        sources, reads, listed = self._find_sources()
        shards = [Shard(self.work, number) for number in range(len(reads))]
        self._parse(shards, reads)
        groups = make_groups(self.work, len(shards))
        self._run_groups("collecting files", groups, collect_group, "files")
        counts, first_of = self._select(groups)

        def skips() -> Iterator[Skip]:
            yield from listed
            for shard in shards:
                yield from (Skip(**skip) for skip in json.loads(shard.skips.read_text()))
            yield from near_duplicate_skips(groups, first_of)

        if not any(numbers["files"] for numbers in counts.values()):
            reasons = Counter(skip.reason for skip in skips()).most_common(5)
            summary = "; ".join(f"{count} × {reason}" for reason, count in reasons)
            raise CorpusError(f"no file is left for a corpus ({summary})")
        first_stays = self.config.sources.paper_split is not None
        ranges = hash_ranges(group.functions for group in groups)
        duplicates = self._run_ranges("comparing functions", ranges, find_duplicate_functions, groups, first_stays)
        self._run_groups("counting values", groups, count_group, "counts")
        types = rank_types(groups, self.corpus / "types.arrow")
        ranks, ranked_counts = self._rank(groups)
        self._run_groups("writing splits", groups, encode_group, "encoded", duplicates, ranks, types, self.corpus)
        num_values = self._write_values(groups, ranked_counts)
        digests = {name: sha256(self.corpus / name) for name in ("types.arrow", "values.arrow")}
        for group in groups:
            encoded = json.loads(group.encoded.read_text())
            digests |= encoded["tables"]
            for numbers, functions in zip(counts.values(), encoded["functions"], strict=True):
                for key, number in zip(("functions", "duplicate_functions"), functions, strict=True):
                    numbers[key] = numbers.get(key, 0) + number
        return self._finish(sources, skips(), counts, len(types), num_values, dict(sorted(digests.items())))

    def _run_groups(
        self, title: str, groups: Sequence[Group], function: Callable[..., None], result: str, *arguments: Any
    ) -> None:
        tasks = [Task((group, *arguments), getattr(group, result), group.num_shards) for group in groups]
        self.workers.run(title, function, tasks)

    def _run_ranges(
        self, title: str, ranges: Sequence[tuple[int, int]], function: Callable[..., None], *arguments: Any
    ) -> list[Path]:
        """Run a task for each range of `arguments`; returns their results."""
        results = [self.work / f"{function.__name__}-{number:05d}.npy" for number in range(len(ranges))]
        tasks = [
            Task((arguments[0], *bounds, *arguments[1:], result), result)
            for bounds, result in zip(ranges, results, strict=True)
        ]
        self.workers.run(title, function, tasks)
        return results

    def _select(self, groups: Sequence[Group]) -> tuple[dict[str, dict[str, int]], dict[int, int]]:
        lists = self.config.sources.paper_split
        if lists is not None:
            given_splits = read_owners(lists, self.config.language)
        else:
            given_splits = read_splits(self.config.splits) if self.config.splits else {}
        pairs: list[Path] = []
        if not self.config.keep_near_duplicates:
            ranges = hash_ranges(group.bands for group in groups)
            pairs = self._run_ranges("comparing files", ranges, find_near_duplicates, groups)
        self.progress.start("selecting files", 1)
        selected = select_files(groups, pairs, given_splits, self.config.seed)
        self.progress.advance()
        return selected

    def _rank(self, groups: Sequence[Group]) -> tuple[list[Path], list[Path]]:
        """The ranks of the values of each group, and the counts of all values by rank, both by ranges of hashes."""
        ranges = hash_ranges(group.counts for group in groups)
        totals = self._run_ranges("adding counts", ranges, count_totals, groups)
        ranks = [self.work / f"ranks-{number:05d}.npy" for number in range(len(ranges))]
        counts = [path.with_stem(path.stem.replace("ranks", "counts")) for path in ranks]
        tasks = [
            Task((groups, *bounds, *first, *paths), paths[0])
            for bounds, first, *paths in zip(ranges, first_ranks(totals), ranks, counts, strict=True)
        ]
        self.workers.run("ranking values", rank_range, tasks)
        return ranks, counts

    def _write_values(self, groups: Sequence[Group], counts: Sequence[Path]) -> int:
        num_values = sum(len(map_rows(path)) for path in counts)
        parts = [self.work / f"values-{start:010d}.arrow" for start in range(0, num_values, VALUES_PER_TASK)]
        tasks = [
            Task((groups, counts, start, min(start + VALUES_PER_TASK, num_values), part), part)
            for start, part in zip(range(0, num_values, VALUES_PER_TASK), parts, strict=True)
        ]
        self.workers.run("writing values", write_values, tasks)
        join_values(parts, self.corpus / "values.arrow")
        return num_values

    def _find_sources(self) -> tuple[list[Source], list[list[tuple[Source, Chunk]]], list[Skip]]:
        """The sources, what each shard reads, and what is skipped already."""
        language = language_named(self.config.language)
        sources, missing = resolve(self.request["sources"], language, self.work, self.config.sources, self.progress)
        chunks, skips = plan(sources, self.progress)
        reads: list[list[tuple[Source, Chunk]]] = []
        num_files = num_bytes = 0
        for chunk in chunks:
            num_files, num_bytes = num_files + chunk.count, num_bytes + chunk.num_bytes
            if not reads or num_files > SHARD_FILES or num_bytes > SHARD_BYTES:
                reads.append([])
                num_files, num_bytes = chunk.count, chunk.num_bytes
            reads[-1].append((sources[chunk.source], chunk))
        # Unfinished work in the folder must belong to the same request and the same files.
        begun, content = self.work / "request.sha256", hashlib.sha256(json.dumps(self.request).encode())
        for chunk in chunks:
            content.update(repr(chunk).encode())
        fingerprint = content.hexdigest()
        is_same = begun.exists() and begun.read_text() == fingerprint
        if not is_same and any(self.work.glob("*.skips.json")):
            changed = f"the request or the files have changed since {self.corpus} was begun"
            raise CorpusError(f"{changed}; remove the folder to start again")
        write_text(begun, fingerprint)
        return sources, reads, missing + skips

    def _parse(self, shards: Sequence[Shard], reads: Sequence[list[tuple[Source, Chunk]]]) -> None:
        tasks = [
            Task((shard, read, self.config), shard.skips, sum(chunk.count for _, chunk in read))
            for shard, read in zip(shards, reads, strict=True)
        ]
        self.workers.run("parsing files", parse_shard, tasks, can_restart=True)
        for shard in shards:
            for path in read_lines(shard.crashed):
                self.progress.log(f"{path}: the parser crashed; the file is skipped")

    def _finish(
        self,
        sources: Sequence[Source],
        skips: Iterable[Skip],
        counts: dict[str, dict[str, int]],
        num_types: int,
        num_values: int,
        digests: dict[str, str],
    ) -> dict[str, Any]:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "language": self.config.language,
            "request": self.request,
            "sources": [asdict(source.origin) for source in sources],
            "splits": counts,
            "types": num_types,
            "values": num_values,
            "digest": content_digest(digests),
            "tables": digests,
            "skipped": _write_skips(self.corpus / "skipped.jsonl", skips),
        }
        write_text(self.corpus / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        _remove_leftovers(self.corpus)
        return manifest


def _remove_leftovers(corpus: Path) -> None:
    """Remove intermediate files, and those that a killed process was writing, from a finished corpus."""
    with suppress(OSError):  # a finished corpus may be read-only
        for path in corpus.glob(".*.part"):
            path.unlink(missing_ok=True)
    shutil.rmtree(corpus / ".work", ignore_errors=True)


def _write_skips(path: Path, skips: Iterable[Skip]) -> dict[str, dict[str, Any]]:
    """List what was skipped; returns how often for each reason, with three examples."""
    found: dict[str, dict[str, Any]] = {}
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for skip in skips:
            file.write(json.dumps(asdict(skip)) + "\n")
            entry = found.setdefault(skip.reason, {"count": 0, "examples": []})
            entry["count"] += 1
            if len(entry["examples"]) < 3:
                entry["examples"].append(f"{skip.path}: {skip.detail}" if skip.detail else skip.path)
    return dict(sorted(found.items(), key=lambda item: (-item[1]["count"], item[0])))
