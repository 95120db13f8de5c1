"""Packages of the Python and JavaScript registries, downloaded by the user's own pip and npm.

Nothing in a package is ever run. pip would run the build scripts of source distributions, so only wheels are used.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from rarename.errors import SourceError

# For each kind, what separates name and version, and the pattern of a name.
_KINDS = {
    "pypi": ("==", r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?"),
    "npm": ("@", r"(@[a-z0-9_~][a-z0-9._~-]*/)?[a-z0-9_~][a-z0-9._~-]*"),
}
_VERSION = r"[a-z0-9][a-z0-9.!+_-]*"

# Tried if there is no wheel for this machine: the source files are the same.
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64", "macosx_11_0_arm64", "macosx_10_9_x86_64", "win_amd64")

_TIMEOUT_SECONDS = 1_800


@dataclass(frozen=True)
class Package:
    """One package of a registry."""

    kind: str  # a key of `_KINDS`
    name: str
    version: str  # empty for the newest

    @property
    def requirement(self) -> str:
        """The package as pip or npm names it."""
        return f"{self.name}{_KINDS[self.kind][0]}{self.version}" if self.version else self.name


def is_package(spec: str) -> bool:
    """Whether a source is a package, by its prefix."""
    return spec.startswith(tuple(f"{kind}:" for kind in _KINDS))


def parse_package(spec: str) -> Package:
    """Parse `pypi:NAME==VERSION` or `npm:NAME@VERSION`.

    >>> parse_package("npm:@babel/parser@7.24.0")
    Package(kind='npm', name='@babel/parser', version='7.24.0')
    """
    kind, _, package = spec.partition(":")
    separator, name = _KINDS[kind]
    match = re.fullmatch(f"(?P<name>{name})({separator}(?P<version>{_VERSION}))?", package, re.ASCII | re.IGNORECASE)
    if not match:  # a name that starts with a dash would be an option of pip or npm
        raise SourceError(f"{spec!r} names no package; expected {kind}:NAME or {kind}:NAME{separator}VERSION")
    name = re.sub(r"[-_.]+", "-", match["name"]).lower() if kind == "pypi" else match["name"]
    return Package(kind, name, match["version"] or "")


def fetch(package: Package, downloads: Path) -> Path:
    """Download the archive of a package, unless it has been downloaded before."""
    finished = downloads / package.kind / f"{package.name}@{package.version or 'newest'}".replace("/", "+")
    if not finished.is_dir():
        finished.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(mkdtemp(prefix=".download-", dir=finished.parent))
        try:
            (_download_wheel if package.kind == "pypi" else _download_npm)(package.requirement, temporary)
            _only_file(package, temporary)
            temporary.rename(finished)
        except OSError:
            if not finished.is_dir():  # else another process was faster
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return _only_file(package, finished)


def version_of(package: Package, archive: Path) -> str:
    """The version of a downloaded package, by the name of its archive if the user gave none."""
    if package.version or package.kind == "pypi":
        return package.version or archive.name.split("-")[1]
    flat_name = package.name.removeprefix("@").replace("/", "-")
    return archive.name.removesuffix(".tgz").removeprefix(f"{flat_name}-")


def _download_wheel(requirement: str, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        missing = f"pypi:{requirement} needs pip, which this Python does not have"
        ensure = f"{Path(sys.executable).name} -m ensurepip"
        raise SourceError(f"{missing}; install it ({ensure}) or name a downloaded wheel instead")
    quietly = ("--quiet", "--disable-pip-version-check", "--no-input")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *quietly]
    for platforms in ((), _PLATFORMS):
        options = [f"--platform={platform}" for platform in platforms]
        error = _run([*command, *options, f"--dest={folder.resolve()}", requirement], folder)
        if error is None:
            return
        if "No matching distribution" not in error:
            raise SourceError(f"pip cannot download {requirement!r}: {_last_error(error)}")
    advice = "download that archive and name the file (pip would run its build script)"
    raise SourceError(f"pip finds no wheel of {requirement!r}; if it exists as a source distribution only, {advice}")


def _download_npm(requirement: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        missing = f"npm:{requirement} needs npm, which is not on the PATH"
        raise SourceError(f"{missing}; install Node.js or name a downloaded .tgz instead")
    options = ("--ignore-scripts", "--silent", "--pack-destination", str(folder.resolve()))
    error = _run([npm, "pack", requirement, *options], folder)
    if error is not None:
        raise SourceError(f"npm cannot download {requirement!r}: {_last_error(error) or 'it gave no reason'}")


def _run(command: Sequence[str], folder: Path) -> str | None:
    """Run a tool in an empty folder, away from all project files; its output if it fails, else None."""
    run = partial(subprocess.run, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    try:
        result = run(command, cwd=folder, timeout=_TIMEOUT_SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_TIMEOUT_SECONDS} seconds"
    except OSError as error:
        return str(error)
    return None if result.returncode == 0 else (result.stderr + result.stdout)


def _last_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    return errors[-1][:300] if errors else ""


def _only_file(package: Package, folder: Path) -> Path:
    files = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".tgz"))
    if len(files) != 1:
        met = f"in {folder}, met {', '.join(path.name for path in files) or 'none'}"
        raise SourceError(f"expected one archive of {package.name} {met}; remove that folder to download again")
    return files[0]
