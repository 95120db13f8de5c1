"""The work of `rarename mine`: list commits, look at them in chunks on all cores, write each fix once.

The fixes of a chunk are kept next to the output until it is complete, under a name that depends on the commits alone.
So interrupted work is resumed, and the result does not depend on the number of processes.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rarename._version import __version__
from rarename.corpus.workers import Task, Workers
from rarename.discovery import MAX_FILE_BYTES, over_limit
from rarename.errors import ParseError, UsageError
from rarename.io import locked, remove_parts, replacing, write_text
from rarename.mining.fixes import candidates, fix_in
from rarename.mining.history import Repository, subject_and_date
from rarename.printable import escaped
from rarename.progress import NullProgress, Progress
from rarename.syntax import Language, language_named

CHUNK_COMMITS = 200

Fix = dict[str, Any]


@dataclass
class Mined:
    """What `mine` found."""

    num_repositories: int = 0
    num_commits: int = 0
    num_unreadable: int = 0  # paths that are not repositories, or cannot be read
    tiers: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # by reason


def mine(paths: Sequence[Path], language: str, out: Path, jobs: int = 1, progress: Progress | None = None) -> Mined:
    """Write the fixes in the histories of repositories to a file, one JSON object per line.

    With more than one job, call this under `if __name__ == "__main__":`.
    """
    progress, work = progress or NullProgress(), out.absolute().with_name(f".{out.name}.work")
    if out.exists():
        shutil.rmtree(work, ignore_errors=True)  # of a command that was killed at its very end
        raise UsageError(f"{out} exists; remove it or choose another file")
    chunks, mined = _list_commits(paths, progress)
    work.mkdir(parents=True, exist_ok=True)
    with locked(work / "lock", f"another process is writing {out}"), closing(Workers(jobs, None, progress)) as workers:
        tasks = []
        for repository, commits in chunks:
            content = json.dumps([__version__, language, repository.name, commits])
            result = work / f"{hashlib.sha256(content.encode()).hexdigest()}.json"
            tasks.append(Task((repository, commits, language, result), result, len(commits)))
        workers.run("reading commits", _mine_chunk, tasks)
        fixes: dict[tuple[str, ...], Fix] = {}
        for task in tasks:
            found = json.loads(task.result.read_text(encoding="utf-8"))
            mined.skipped.update(found["skipped"])
            for fix in found["fixes"]:
                _keep(fix, fixes, mined)
        remove_parts(out.absolute())
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(fix, ensure_ascii=False) + "\n" for fix in fixes.values())
        shutil.rmtree(work)
    mined.tiers.update(fix["tier"] for fix in fixes.values())
    return mined


def _list_commits(paths: Sequence[Path], progress: Progress) -> tuple[list[tuple[Repository, list[str]]], Mined]:
    """The commits of each repository, in chunks, without those of a repository before it: forks share commits."""
    mined, chunks, seen = Mined(), [], set[str]()
    progress.start("listing commits", len(paths))
    for path in paths:
        try:
            repository = Repository.at(path)
            listed = repository.commits()
        except UsageError as error:
            progress.log(escaped(f"{path}: {error}"))
            mined.num_unreadable += 1
        else:
            if not listed:
                progress.log(escaped(f"{path}: it has no commit with a parent"))
            commits = [commit for commit in listed if commit not in seen]
            seen.update(commits)
            starts = range(0, len(commits), CHUNK_COMMITS)
            chunks += [(repository, commits[start : start + CHUNK_COMMITS]) for start in starts]
            mined.num_repositories += 1
        progress.advance()
    if not mined.num_repositories:
        raise UsageError("none of the repositories can be read")
    mined.num_commits = len(seen)
    return chunks, mined


def _keep(fix: Fix, fixes: dict[tuple[str, ...], Fix], mined: Mined) -> None:
    """Add a fix unless it is known: from a fork, a copy of the file, or a commit applied to another branch.

    A fix that undoes an earlier change replaces it.
    """
    line = fix["before_function"].split("\n")[fix["line"] - 1].encode()
    start = fix["column"] - 1
    fixed = line[:start] + fix["right"].encode() + line[start + len(fix["wrong"].encode()) :]
    name = fix["function"].rpartition(".")[2]
    key = (name, fix["wrong"], fix["right"], line.decode().strip())
    if key in fixes:
        mined.skipped["found before"] += 1
        return
    fixes[key] = fix
    if fixes.pop((name, fix["right"], fix["wrong"], fixed.decode().strip()), None):
        mined.skipped["undone later"] += 1


def _mine_chunk(repository: Repository, commits: Sequence[str], language: str, result: Path) -> None:
    skipped: Counter[str] = Counter()
    try:
        fixes = list(_fixes(repository, commits, language_named(language), skipped))
    except UsageError:  # one object that cannot be read ends a command of git: read every commit with its own
        fixes, skipped = [], Counter()
        for commit in commits:
            try:
                fixes += _fixes(repository, [commit], language_named(language), skipped)
            except UsageError:
                skipped["commit with missing or damaged objects"] += 1
    write_text(result, json.dumps({"fixes": fixes, "skipped": skipped}))


def _fixes(repository: Repository, commits: Sequence[str], language: Language, skipped: Counter[str]) -> Iterator[Fix]:
    found = [
        candidate
        for patch in repository.patches(commits, language.suffixes)
        for candidate in candidates(patch, language)
    ]
    objects = repository.objects([id_ for each in found for id_ in (each.commit, *each.hunk.blobs)], MAX_FILE_BYTES)
    for candidate in found:
        commit, before, after = next(objects), next(objects), next(objects)
        if commit is None or before is None or after is None:
            skipped[over_limit(MAX_FILE_BYTES)] += 1
            continue
        subject, date = subject_and_date(commit)
        try:
            fix = fix_in(candidate, before, after, subject, language)
        except ParseError as error:
            skipped[error.reason] += 1
            continue
        if fix is not None:
            origin = {"repo": repository.name, "commit": candidate.commit, "date": date, "subject": subject}
            yield origin | fix
