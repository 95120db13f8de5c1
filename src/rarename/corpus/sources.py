"""Sources: what the user named, as things that files can be read from.

`resolve` turns specs into sources, `plan` lists them all; each source then reads its chunks in any process.
"""

import hashlib
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from rarename.corpus.archives import TarSource, ZipSource
from rarename.corpus.documents import Chunk, ChunkLimits, Origin, Skip, Source, SourceOptions
from rarename.corpus.folders import FolderSource, project_depth
from rarename.corpus.packages import Package, fetch, is_package, parse_package, version_of
from rarename.corpus.paths import ARCHIVE_ENDINGS, is_archive, printable
from rarename.corpus.published import (
    EXAMPLES,
    TREES,
    RecordSource,
    kind_of_records,
    open_records,
    read_allowed,
    read_duplicates,
    root_type,
)
from rarename.errors import SourceError, UsageError
from rarename.progress import Progress
from rarename.syntax.language import Language
from rarename.syntax.tokens import TOKENS

PACKAGE_MISSING = "package not available"

STDLIB = "stdlib"
_DOWNLOADS_AT_ONCE = 4
_RECORD_ENDINGS = (".json", ".jsonl", ".txt", ".gz")


@dataclass(frozen=True)
class Resolved:
    """The sources that can be read, and the packages that could not be had."""

    sources: list[Source]
    skips: list[Skip]


@dataclass(frozen=True)
class Plan:
    """Every chunk of every source, and what the listing already left out."""

    chunks: list[Chunk]
    skips: list[Skip]


def resolve(
    specs: Sequence[str],
    language: Language,
    work: Path,
    options: SourceOptions,
    progress: Progress,
) -> Resolved:
    """Find what the user named, downloading packages into `work / "downloads"`.

    A name that means nothing is an error at once. A package that cannot be had is a skip: one of a hundred
    must not stop the others. Only if nothing at all can be had it is an error.
    """
    if not specs:
        raise UsageError("no sources; name a folder, an archive, a package or a file of records")
    names = [name for spec in specs for name in _expand(spec)]
    packages = {name: parse_package(name) for name in dict.fromkeys(names) if is_package(name)}
    local = {name: _open_local(name, language, options) for name in dict.fromkeys(names) if name not in packages}
    archives = _fetch_all(packages, work / "downloads", progress)
    sources: list[Source] = []
    skips: list[Skip] = []
    for name in dict.fromkeys(names):
        if name in local:
            sources.append(local[name])
            continue
        package, archive = packages[name], archives[name]
        if isinstance(archive, SourceError):
            skips.append(Skip(name, package.name, PACKAGE_MISSING, str(archive)))
        else:
            sources.append(_open_package(name, package, archive, language, options))
    if not sources:
        raise SourceError("none of the sources is available:\n" + "\n".join(skip.detail for skip in skips))
    return Resolved(_with_lists(_numbered(sources), options), skips)


def plan(sources: Sequence[Source], limits: ChunkLimits, progress: Progress) -> Plan:
    """List all sources. Nothing to read at all is an error, because it is never what the user wanted."""
    chunks: list[Chunk] = []
    skips: list[Skip] = []
    progress.start("listing files", len(sources))
    for source in sources:
        found, left_out = source.chunks(limits)
        chunks += found
        skips += left_out
        if not found:
            progress.log(f"{source.origin.spec}: no {', '.join(source.suffixes)} files")
        progress.advance()
    if not chunks:
        endings = ", ".join(dict.fromkeys(ending for source in sources for ending in source.suffixes))
        named = ", ".join(source.origin.spec for source in sources)
        skipped = f"; {len(skips)} left out, the first: {_explained(skips[0])}" if skips else ""
        raise SourceError(f"no {endings} files in {named}{skipped}")
    return Plan(chunks, skips)


def _expand(spec: str) -> list[str]:
    """The specs of `@list.txt`, or the spec itself."""
    if not spec.startswith("@"):
        return [spec]
    path = Path(spec[1:])
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{spec}: the list cannot be read: {error}") from None
    # A `#` within a line may be part of a file's name; only a whole line is a comment.
    entries = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    for entry in entries:
        if entry.startswith("@"):
            raise SourceError(f"{path}: {entry!r} is a list within a list; name it on the command line")
    if not entries:
        raise SourceError(f"{path}: the list is empty; expected one source a line")
    return [_beside(path, entry) for entry in entries]


def _beside(path: Path, entry: str) -> str:
    """A list's entry; relative paths start at the list's folder."""
    if is_package(entry) or entry == STDLIB or Path(entry).is_absolute():
        return entry
    return str(path.parent / entry)


def _open_local(spec: str, language: Language, options: SourceOptions) -> Source:
    if spec == STDLIB:
        return _open_stdlib(language, options)
    place = Path(spec)
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL
        is_folder = is_file = False
    if is_folder:
        depth = project_depth(place) if options.project_depth is None else options.project_depth
        origin = Origin(spec, "folder", _name_of(place))
        return FolderSource(0, origin, place.resolve(), origin.name, language.suffixes, options, depth)
    if not is_file:
        raise SourceError(
            f"{spec!r} is neither a folder, a file nor a package; expected a path, pypi:NAME, npm:NAME, "
            f"{STDLIB} or @LIST"
        )
    return _open_file(spec, place.resolve(), language, options)


def _open_stdlib(language: Language, options: SourceOptions) -> Source:
    if ".py" not in language.suffixes:
        raise SourceError(f"{STDLIB} holds Python, not {language.name}; name other sources")
    version = ".".join(map(str, sys.version_info[:3]))
    origin = Origin(STDLIB, STDLIB, STDLIB, version)
    place = Path(sysconfig.get_path("stdlib"))
    return FolderSource(0, origin, place, STDLIB, language.suffixes, options, depth=1)


def _open_file(spec: str, place: Path, language: Language, options: SourceOptions) -> Source:
    name = _name_of(place)
    if is_archive(place.name):
        stem = next(name[: -len(ending)] for ending in ARCHIVE_ENDINGS if name.lower().endswith(ending))
        origin = Origin(spec, "archive", stem or name, "", _sha256(place))
        return _open_archive(origin, place, language, options)
    records = kind_of_records(place) if place.name.lower().endswith(_RECORD_ENDINGS) else None
    if records is not None:
        _check_language(spec, records, language)
        if records == TREES and (root := root_type(place)) not in ("", language.root_type):
            raise SourceError(f"{spec} holds trees of {root}; those of {language.name} begin with {language.root_type}")
        origin = Origin(spec, records, name, "", _sha256(place))
        return open_records(RecordSource(0, origin, place, name, language.suffixes, options))
    source = FolderSource(0, Origin(spec, "file", name), place, name, language.suffixes, options)
    if not source.is_wanted(place.name):
        endings = ", ".join((*language.suffixes, *ARCHIVE_ENDINGS))
        raise SourceError(f"{spec}: not a file of {language.name} (one of {endings}), nor published records")
    return source


def _check_language(spec: str, records: str, language: Language) -> None:
    if (records == EXAMPLES) != (language.name == TOKENS.name):
        met = "GREAT examples, which are token sequences" if records == EXAMPLES else "syntax trees"
        advice = f"--language {TOKENS.name}" if records == EXAMPLES else "the language they were made from"
        raise SourceError(f"{spec} holds {met}; ask for {advice}, not {language.name}")


def _open_package(spec: str, package: Package, archive: Path, language: Language, options: SourceOptions) -> Source:
    origin = Origin(spec, package.kind, package.name, version_of(package, archive), _sha256(archive))
    return _open_archive(origin, archive.resolve(), language, options)


def _open_archive(origin: Origin, place: Path, language: Language, options: SourceOptions) -> Source:
    """By content, not by name: a zip may be called .tar.gz."""
    kind = ZipSource if zipfile.is_zipfile(place) or place.suffix.lower() in (".zip", ".whl") else TarSource
    return kind(0, origin, place, origin.name, language.suffixes, options)


def _fetch_all(packages: dict[str, Package], downloads: Path, progress: Progress) -> dict[str, Path | SourceError]:
    """Download several packages at a time; a failure is a result like another."""

    def attempt(package: Package) -> Path | SourceError:
        try:
            return fetch(package, downloads)
        except SourceError as error:
            return error

    if not packages:
        return {}
    progress.start("fetching packages", len(packages))
    with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
        try:
            pending = {name: pool.submit(attempt, package) for name, package in packages.items()}
            results: dict[str, Path | SourceError] = {}
            for name, future in pending.items():
                results[name] = result = future.result()
                if isinstance(result, SourceError):
                    progress.log(f"{name}: {result}")
                progress.advance()
            return results
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C, do not start what is still waiting


def _numbered(sources: list[Source]) -> list[Source]:
    """Give every source its index, and a prefix that no other has: the second `src` becomes `src~2`."""
    taken: set[str] = set()
    result: list[Source] = []
    for index, source in enumerate(sources):
        prefix, number = source.prefix, 1
        while prefix in taken:
            number += 1
            prefix = f"{source.prefix}~{number}"
        taken.add(prefix)
        result.append(replace(source, index=index, prefix=prefix))
    return result


def _with_lists(sources: list[Source], options: SourceOptions) -> list[Source]:
    """Give every file of trees the list of its paths, and check the lists that all share."""
    trees = [source for source in sources if isinstance(source, RecordSource) and source.origin.kind == TREES]
    if options.paths and len(options.paths) != len(trees):
        raise UsageError(f"{len(options.paths)} lists of paths for {len(trees)} files of trees; expected one for each")
    for path in options.allowed:
        read_allowed(path)
    if options.duplicates is not None:
        read_duplicates(options.duplicates)
    lists: dict[int, Path] = {}
    for number, source in enumerate(trees):
        beside = source.place.with_name(source.place.name.split(".json")[0] + ".txt")
        path = options.paths[number] if options.paths else beside
        if path.is_file():
            lists[source.index] = path.resolve()
        elif options.paths:
            raise SourceError(f"{path}: no such list of paths")
    return [
        replace(source, paths=lists[source.index])
        if isinstance(source, RecordSource) and source.index in lists
        else source
        for source in sources
    ]


def _name_of(place: Path) -> str:
    return printable(place.resolve().name) or "root"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _explained(skip: Skip) -> str:
    return f"{skip.path}: {skip.reason}" + (f" ({skip.detail})" if skip.detail else "")
