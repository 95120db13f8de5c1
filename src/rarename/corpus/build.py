"""Many files to a corpus: the steps of `rarename prepare`, in order.

    find sources ─▶ parse ─▶ select ─▶ count ─▶ rank ─▶ encode ─▶ write values
     (downloads)   (shards)           (shards)         (shards)

Parsing, counting and encoding are tasks on shards, which are limited runs of files, on any executor. Selection
uses the signatures of all files, ranking uses hashes and counts. So memory is limited to a shard and a few bytes for
each file and each distinct value. Shards depend on the sources alone, so the corpus does not depend on the number of
processes. Intermediate files are in `CORPUS/.work`. The manifest is written last: a corpus without one is unfinished.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rarename.corpus.document import SHARD_BYTES, SHARD_FILES, Chunk, PrepareConfig, Skip, Source, sha256
from rarename.corpus.paper_split import for_paper_split, read_owners
from rarename.corpus.selection import Selection, select_files
from rarename.corpus.shards import Shard, count_shard, encode_shard, parse_shard, read_lines
from rarename.corpus.sources import plan, resolve
from rarename.corpus.splits import read_splits
from rarename.corpus.store import FORMAT, MANIFEST, VERSION, content_digest, read_manifest, table_digests
from rarename.corpus.value_ranks import rank_types, rank_values, write_values
from rarename.corpus.workers import Task, Workers
from rarename.errors import CorpusError, UsageError
from rarename.io import locked, write_text
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
        sources, reads, skips = self._find_sources()
        shards = [Shard(self.work, number) for number in range(len(reads))]
        self._parse(shards, reads)
        skips += [Skip(**skip) for shard in shards for skip in json.loads(shard.skips.read_text())]
        given_splits = read_splits(self.config.splits) if self.config.splits else {}
        lists = self.config.sources.paper_split
        if lists is not None:
            given_splits = read_owners(lists, self.config.language)
        self.progress.start("selecting files", 1)
        keep_near_duplicates, first_stays = self.config.keep_near_duplicates, lists is not None
        selection = select_files(shards, given_splits, self.config.seed, keep_near_duplicates, first_stays)
        self.progress.advance()
        if not any(counts["files"] for counts in selection.counts.values()):
            reasons = Counter(skip.reason for skip in skips).most_common(5)
            listed = "; ".join(f"{count} × {reason}" for reason, count in reasons)
            raise CorpusError(f"no file is left for a corpus ({listed})")
        tasks = zip(shards, selection.splits, strict=True)
        self.workers.run("counting values", [Task(count_shard, task, task[0].counts) for task in tasks])
        ranks, counts = self.work / "ranks.npy", self.work / "counts.npy"
        shard_counts = [shard.counts for shard in shards]
        types = rank_types(shard_counts, self.corpus / "types.arrow")
        rank_values(shard_counts, ranks, counts, self.progress)
        selected = zip(shards, selection.splits, selection.keeps_function, strict=True)
        encoded = [Task(encode_shard, (*task, ranks, types, self.corpus), task[0].ranked) for task in selected]
        self.workers.run("writing splits", encoded)
        ranked = [shard.ranked for shard in shards]
        num_values = write_values(ranked, counts, self.corpus / "values.arrow", self.progress)
        return self._finish(sources, skips + selection.skips, selection, len(types), num_values)

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
        begun, content = self.work / "request.sha256", json.dumps([self.request, *map(asdict, chunks)])
        fingerprint = hashlib.sha256(content.encode()).hexdigest()
        is_same = begun.exists() and begun.read_text() == fingerprint
        if not is_same and any(self.work.glob("*.skips.json")):
            changed = f"the request or the files have changed since {self.corpus} was begun"
            raise CorpusError(f"{changed}; remove the folder to start again")
        write_text(begun, fingerprint)
        return sources, reads, missing + skips

    def _parse(self, shards: Sequence[Shard], reads: Sequence[list[tuple[Source, Chunk]]]) -> None:
        tasks = [
            Task(parse_shard, (shard, read, self.config), shard.skips, sum(chunk.count for _, chunk in read))
            for shard, read in zip(shards, reads, strict=True)
        ]
        self.workers.run("parsing files", tasks, can_restart=True)
        for shard in shards:
            for path in read_lines(shard.crashed):
                self.progress.log(f"{path}: the parser crashed; the file is skipped")

    def _finish(
        self, sources: Sequence[Source], skips: Sequence[Skip], selection: Selection, num_types: int, num_values: int
    ) -> dict[str, Any]:
        write_text(self.corpus / "skipped.jsonl", "".join(json.dumps(asdict(skip)) + "\n" for skip in skips))
        digests = table_digests(self.corpus)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "language": self.config.language,
            "request": self.request,
            "sources": [asdict(source.origin) for source in sources],
            "splits": selection.counts,
            "types": num_types,
            "values": num_values,
            "digest": content_digest(digests),
            "tables": digests,
            "skipped": _count_skips(skips),
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


def _count_skips(skips: Sequence[Skip]) -> dict[str, dict[str, Any]]:
    examples: dict[str, list[str]] = {}
    for skip in skips:
        examples.setdefault(skip.reason, []).append(f"{skip.path}: {skip.detail}" if skip.detail else skip.path)
    by_count = sorted(examples.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: {"count": len(found), "examples": found[:3]} for reason, found in by_count}
