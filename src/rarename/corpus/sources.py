"""Specs to sources: `resolve` finds what the user named, `plan` lists it in chunks, which any process can read."""

import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from rarename.corpus.archives import TarSource, ZipSource
from rarename.corpus.document import Chunk, Origin, Skip, Source, SourceOptions, read_list, sha256
from rarename.corpus.folder import PROJECT_FILES, FolderSource
from rarename.corpus.packages import Package, fetch, is_package, parse_package, version_of
from rarename.corpus.paper_split import FILES, mark_kept
from rarename.corpus.parquet import PARQUET, ParquetSource, find_columns, parquet_files
from rarename.corpus.record_files import TREES, RecordSource, read_allow_list, read_duplicates, sniff_records
from rarename.discovery import ARCHIVE_ENDINGS, is_archive, printable
from rarename.errors import SourceError, UsageError
from rarename.progress import Progress
from rarename.syntax import LANGUAGES, Language

STDLIB = "stdlib"
_PARALLEL_DOWNLOADS = 4
_RECORD_ENDINGS = (".json", ".jsonl", ".txt", ".gz")


def resolve(
    specs: Sequence[str], language: Language, work: Path, options: SourceOptions, progress: Progress
) -> tuple[list[Source], list[Skip]]:
    """The sources that the user named, and what is not available. Packages are downloaded to `work / "downloads"`.

    A package that is not available is a skip, because one of a hundred must not stop the others.
    """
    if not specs:
        raise UsageError("no sources; name a folder, an archive, a package or a record file")
    names = dict.fromkeys(name for spec in specs for name in _expand(spec, language))
    packages = {name: parse_package(name) for name in names if is_package(name)}
    local = {name: _open_local(name, language, options) for name in names if name not in packages}
    found = local | _open_packages(packages, work / "downloads", language, options, progress)
    sources = [source for name in names if isinstance(source := found[name], Source)]
    skips = [skip for name in names if isinstance(skip := found[name], Skip)]
    if not sources:
        raise SourceError("none of the sources is available: " + "; ".join(skip.detail for skip in skips))
    sources = _with_record_paths(_with_unique_prefixes(sources), options)
    if options.paper_split is not None:
        sources = mark_kept(sources, options.paper_split, language.name, work, progress)
    return sources, skips


def plan(sources: Sequence[Source], progress: Progress) -> tuple[list[Chunk], list[Skip]]:
    """Every chunk of every source, and what the listings left out. It is an error if there is nothing to read."""
    chunks: list[Chunk] = []
    skips: list[Skip] = []
    progress.start("listing files", len(sources))
    for source in sources:
        source_chunks, source_skips = source.chunks()
        chunks += source_chunks
        skips += source_skips
        if not source_chunks:
            progress.log(f"{source.origin.spec}: no {', '.join(source.suffixes)} files")
        progress.advance()
    if not chunks:
        message = f"no {', '.join(sources[0].suffixes)} files in {', '.join(source.origin.spec for source in sources)}"
        if skips:
            detail = f" ({skips[0].detail})" if skips[0].detail else ""
            message += f"; {len(skips)} left out, the first: {skips[0].path}: {skips[0].reason}{detail}"
        raise SourceError(message)
    return chunks, skips


def _expand(spec: str, language: Language) -> list[str]:
    """The specs in `@list.txt`, with relative paths based on the folder of the list; any other spec unchanged."""
    kind, _, folder = spec.partition(":")
    if kind in FILES and folder:
        expected, files = FILES[kind]
        if expected != language.name:
            raise SourceError(f"{spec} holds {expected}; use --language {expected}, not {language.name}")
        return [str(Path(folder) / name) for name in files]
    if spec.startswith(PARQUET):
        return [PARQUET + file for file in parquet_files(folder)]
    if not spec.startswith("@"):
        return [spec]
    path = Path(spec[1:])
    lines = map(str.strip, read_list(path).splitlines())
    # A `#` within a line may be part of a file name, so only whole lines are comments.
    entries = [line for line in lines if line and not line.startswith("#")]
    for entry in entries:
        if entry.startswith("@"):
            raise SourceError(f"{path}: {entry!r} is a list within a list; name it on the command line")
    if not entries:
        raise SourceError(f"{path}: the list is empty; expected one source per line")
    if any(entry.startswith(PARQUET) for entry in entries):
        raise SourceError(f"{path}: a list cannot contain {PARQUET}PATH; name it on the command line")
    # `/` keeps an absolute path.
    return [entry if is_package(entry) or entry == STDLIB else str(path.parent / entry) for entry in entries]


def _open_local(spec: str, language: Language, options: SourceOptions) -> Source:
    if spec == STDLIB:
        if ".py" not in language.suffixes:
            raise SourceError(f"{STDLIB} holds Python, not {language.name}; name other sources")
        origin = Origin(STDLIB, STDLIB, STDLIB, ".".join(map(str, sys.version_info[:3])))
        path = Path(sysconfig.get_path("stdlib"))
        return FolderSource(0, origin, path, STDLIB, language.suffixes, options, project_depth=1)
    if spec.startswith(PARQUET):
        path = Path(spec.removeprefix(PARQUET)).resolve()
        origin = Origin(spec, "parquet", _name_of(path), "", sha256(path))
        columns = find_columns(path, options)
        return ParquetSource(0, origin, path, origin.name, language.suffixes, options, columns)
    path = Path(spec)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, ValueError):  # a name that is too long or has a NUL
        is_folder = is_file = False
    if is_file:
        return _open_file(spec, path.resolve(), language, options)
    if not is_folder:
        expected = f"expected a path, pypi:NAME, npm:NAME, {PARQUET}PATH, {STDLIB} or @LIST"
        raise SourceError(f"{spec!r} is neither a folder, a file nor a package; {expected}")
    is_project = any((path / name).exists() for name in PROJECT_FILES)
    depth = int(not is_project) if options.project_depth is None else options.project_depth
    origin = Origin(spec, "folder", _name_of(path))
    return FolderSource(0, origin, path.resolve(), origin.name, language.suffixes, options, depth)


def _open_file(spec: str, path: Path, language: Language, options: SourceOptions) -> Source:
    name = _name_of(path)
    if is_archive(path.name):
        stem = next(name[: -len(ending)] for ending in ARCHIVE_ENDINGS if name.lower().endswith(ending))
        return _open_archive(Origin(spec, "archive", stem or name, "", sha256(path)), path, language, options)
    records, root_type = sniff_records(path) if path.name.lower().endswith(_RECORD_ENDINGS) else (None, "")
    if records is not None:
        if root_type != language.root_type:
            met = f"trees of {root_type}" if records == TREES else "GREAT examples, which are token sequences"
            wanted = {other.root_type: other.name for other in LANGUAGES.values()}.get(root_type, "with their language")
            raise SourceError(f"{spec} holds {met}; use --language {wanted}, not {language.name}")
        origin = Origin(spec, records, name, "", sha256(path))
        return RecordSource(0, origin, path, name, language.suffixes, options)
    if not path.name.lower().endswith(language.suffixes):
        endings = ", ".join((*language.suffixes, *ARCHIVE_ENDINGS))
        raise SourceError(
            f"{spec}: not a file of {language.name} (one of {endings}), nor published records, one per line"
        )
    return FolderSource(0, Origin(spec, "file", name), path, name, language.suffixes, options)


def _open_archive(origin: Origin, path: Path, language: Language, options: SourceOptions) -> Source:
    """By content, not by name: a zip may be called .tar.gz."""
    is_zip = zipfile.is_zipfile(path) or path.suffix.lower() in (".zip", ".whl")
    return (ZipSource if is_zip else TarSource)(0, origin, path, origin.name, language.suffixes, options)


def _open_packages(
    packages: dict[str, Package], downloads: Path, language: Language, options: SourceOptions, progress: Progress
) -> dict[str, Source | Skip]:
    def open_package(spec: str) -> Source | Skip:
        package = packages[spec]
        try:
            archive = fetch(package, downloads)
        except SourceError as error:
            return Skip(spec, package.name, "package not available", str(error))
        origin = Origin(spec, package.kind, package.name, version_of(package, archive), sha256(archive))
        return _open_archive(origin, archive.resolve(), language, options)

    opened: dict[str, Source | Skip] = {}
    if packages:
        progress.start("fetching packages", len(packages))
    # Ctrl-C stops the downloads that have not started, because `map` cancels them.
    with ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as pool:
        for spec, source in zip(packages, pool.map(open_package, packages), strict=True):
            opened[spec] = source
            if isinstance(source, Skip):
                progress.log(f"{spec}: {source.detail}")
            progress.advance()
    return opened


def _with_unique_prefixes(sources: Sequence[Source]) -> list[Source]:
    """Number the sources, and give each a prefix that no other has: the second `src` becomes `src~2`."""
    numbered: dict[str, Source] = {}
    for index, source in enumerate(sources):
        prefix, number = source.prefix, 1
        while prefix in numbered:
            number += 1
            prefix = f"{source.prefix}~{number}"
        numbered[prefix] = replace(source, index=index, prefix=prefix)
    return list(numbered.values())


def _with_record_paths(sources: list[Source], options: SourceOptions) -> list[Source]:
    """Give every file of trees the list of its paths. Check the lists that all sources share."""
    for path in options.allow_lists:
        read_allow_list(path)
    if options.duplicate_clusters is not None:
        read_duplicates(options.duplicate_clusters)
    trees = [source for source in sources if isinstance(source, RecordSource) and source.origin.kind == TREES]
    given = options.record_paths
    if given and len(given) != len(trees):
        raise UsageError(f"{len(given)} lists of paths for {len(trees)} files of trees; expected one for each")
    for number, source in enumerate(trees):
        next_to_it = source.path.with_name(source.path.name.split(".json")[0] + ".txt")
        path = given[number] if given else next_to_it
        if path.is_file():
            sources[source.index] = replace(source, record_paths=path.resolve())
        elif given:
            raise SourceError(f"{path}: no such list of paths")
    return sources


def _name_of(path: Path) -> str:
    return printable(path.resolve().name) or "root"
