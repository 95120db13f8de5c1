"""Specs become sources: folders, archives, packages and lists. What is left out is reported."""

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace

import pytest

from rarename.corpus import packages
from rarename.corpus.document import Document, Origin, Skip, SourceOptions
from rarename.corpus.sources import plan, resolve
from rarename.errors import SourceError, UsageError
from rarename.progress import NullProgress
from rarename.syntax.tokens import TOKENS

PYTHON = replace(TOKENS, name="python", suffixes=(".py",))  # sources ask a language for these two only
JAVASCRIPT = replace(TOKENS, name="javascript", suffixes=(".js",))


def run(specs, work, options=None, language=PYTHON):
    """The documents, the skips and the sources, after pickling as for another process."""
    specs = [str(spec) for spec in specs]
    sources, missing = resolve(specs, language, work, options or SourceOptions(), NullProgress())
    sources = pickle.loads(pickle.dumps(sources))
    chunks, skips = plan(sources, NullProgress())
    found = [item for chunk in chunks for item in sources[chunk.source].read(chunk)]
    skips = missing + skips + [item for item in found if isinstance(item, Skip)]
    return [item for item in found if isinstance(item, Document)], skips, sources


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    return folder


def paths(documents):
    return [document.path for document in documents]


def reasons(skips):
    return [(skip.path, skip.reason, skip.detail) for skip in skips]


def test_folder_of_projects_has_one_project_per_entry(tmp_path):
    write(tmp_path / "repos", "one/a.py", "one/sub/b.py", "two/c.py", "loose.py", "two/notes.md")
    documents, skips, sources = run([tmp_path / "repos"], tmp_path)
    projects = {"loose.py": "loose", "one/a.py": "one", "one/sub/b.py": "one", "two/c.py": "two"}
    assert {document.path.removeprefix("repos/"): document.project for document in documents} == projects
    assert documents[1].content == b"# one/a.py\n"
    assert skips == []
    assert sources[0].origin == Origin(str(tmp_path / "repos"), "folder", "repos")


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", "setup.cfg", "package.json", ".git/HEAD"])
def test_folder_with_project_files_is_one_project(tmp_path, mark):
    write(tmp_path / "repo", "src/a.py", "tests/b.py", mark)
    assert {document.project for document in run([tmp_path / "repo"], tmp_path)[0]} == {"repo"}


@pytest.mark.parametrize(("depth", "project"), [(0, "repos"), (1, "owner"), (2, "owner/name"), (9, "owner/name/a")])
def test_depth_of_projects_can_be_set(tmp_path, depth, project):
    write(tmp_path / "repos", "owner/name/a.py", "setup.py/x")
    documents, _, _ = run([tmp_path / "repos"], tmp_path, SourceOptions(project_depth=depth))
    assert documents[0].project == project


def test_folders_that_hold_no_source_of_the_project_are_left_out(tmp_path):
    hidden = (".git/b.py", ".tox/c.py", "node_modules/d.py", "__pycache__/e.py", "env/lib/f.py")
    write(tmp_path / "p", "a.py", *hidden, "env/pyvenv.cfg", "data.zip")
    documents, skips, _ = run([tmp_path / "p"], tmp_path)
    assert paths(documents) == ["p/a.py"]
    assert reasons(skips) == [
        ("p/.git", "folder left out", "hidden"),
        ("p/.tox", "folder left out", "hidden"),
        ("p/__pycache__", "folder left out", "compiled code"),
        ("p/data.zip", "archive inside a folder or archive", ""),
        ("p/env", "folder left out", "virtual environment"),
        ("p/node_modules", "folder left out", "installed packages"),
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")
def test_links_pipes_and_large_files_are_left_out(tmp_path):
    folder = write(tmp_path / "p", "a.py", "sub/b.py")
    (folder / "loop").symlink_to(folder)
    (folder / "link.py").symlink_to(folder / "a.py")
    (folder / "dead.txt").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe.py")
    (folder / "big.py").write_bytes(b"x" * 2000)
    documents, skips, _ = run([folder], tmp_path, SourceOptions(max_file_bytes=1000))
    assert paths(documents) == ["p/a.py", "p/sub/b.py"]
    assert reasons(skips) == [
        ("p/big.py", "over 1000 bytes", "2000 bytes"),
        ("p/link.py", "link", "symbolic link"),
        ("p/loop", "link", "symbolic link"),
        ("p/pipe.py", "not a regular file", ""),
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")
def test_file_that_changes_after_the_listing_is_left_out(tmp_path):
    folder = write(tmp_path / "p", "a.py", "b.py", "c.py", "d.py")
    (source,), _ = resolve([str(folder)], PYTHON, tmp_path, SourceOptions(max_file_bytes=100), NullProgress())
    (chunk,), _ = source.chunks()
    for name in ("a.py", "b.py", "c.py"):
        (folder / name).unlink()
    os.mkfifo(folder / "b.py")
    (folder / "c.py").symlink_to(folder / "d.py")
    (folder / "d.py").write_bytes(b"x" * 200)
    found = list(source.read(chunk))
    assert [skip.path for skip in found] == ["p/a.py", "p/b.py", "p/c.py", "p/d.py"]
    assert [skip.reason for skip in found] == [
        "cannot be read",
        "not a regular file",
        "cannot be read",
        "over 100 bytes",
    ]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable_folder_is_left_out(tmp_path):
    folder = write(tmp_path / "p", "a.py", "closed/b.py")
    (folder / "closed").chmod(0)
    _, skips, _ = run([folder], tmp_path)
    (folder / "closed").chmod(stat.S_IRWXU)
    assert reasons(skips) == [("p/closed", "cannot be read", "Permission denied")]


def test_sources_of_the_same_name_have_different_paths(tmp_path):
    first, second = write(tmp_path / "a/src", "x.py"), write(tmp_path / "b/src", "x.py")
    documents, _, sources = run([first, second, first], tmp_path)
    assert paths(documents) == ["src/x.py", "src~2/x.py"]
    assert [source.index for source in sources] == [0, 1]


def test_single_file_is_a_source(tmp_path):
    write(tmp_path, "tool.py")
    documents, _, sources = run([tmp_path / "tool.py"], tmp_path)
    assert documents == [Document("tool.py", "tool.py", b"# tool.py\n")]
    assert sources[0].origin.kind == "file"


def test_archive_has_its_hash_and_one_project(tmp_path):
    with zipfile.ZipFile(tmp_path / "thing.zip", "w") as archive:
        archive.writestr("lib/a.py", "1")
    documents, _, sources = run([tmp_path / "thing.zip"], tmp_path)
    assert [(document.path, document.project) for document in documents] == [("thing/lib/a.py", "thing")]
    assert len(sources[0].origin.sha256) == 64


def test_paths_in_a_list_are_relative_to_its_folder(tmp_path):
    write(tmp_path / "lists/code", "one/a.py")
    (tmp_path / "lists/all.txt").write_text("# what to read\n\ncode\n")
    assert paths(run([f"@{tmp_path}/lists/all.txt"], tmp_path)[0]) == ["code/one/a.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "list.txt: the list is empty; expected one source per line"),
        ("@more.txt\n", "list.txt: '@more.txt' is a list within a list; name it on the command line"),
        (None, "the list cannot be read: "),
    ],
)
def test_wrong_list_is_an_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "list.txt").write_text(text)
    with pytest.raises(SourceError) as caught:
        run([f"@{tmp_path}/list.txt"], tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no/such", "'no/such' is neither a folder, a file nor a package; expected a path, pypi:NAME, "
                    "npm:NAME, parquet:PATH, stdlib or @LIST"),
        ("nul\0", "'nul\\x00' is neither a folder"),
        ("pypi:--pre", "'pypi:--pre' names no package; expected pypi:NAME or pypi:NAME==VERSION"),
        ("pypi:six>=1", "'pypi:six>=1' names no package"),
        ("npm:../up", "'npm:../up' names no package; expected npm:NAME or npm:NAME@VERSION"),
        ("npm:user/repo", "'npm:user/repo' names no package"),
    ],
)  # fmt: skip
def test_unknown_source_is_an_error(tmp_path, spec, message):
    with pytest.raises(SourceError) as caught:
        run([spec], tmp_path)
    assert str(caught.value).startswith(message)


def test_no_source_and_wrong_limits_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="no sources; name a folder, an archive, a package or a record file"):
        run([], tmp_path)
    with pytest.raises(UsageError, match="max_ratio is 0; expected 1 or more"):
        SourceOptions(max_ratio=0)
    with pytest.raises(UsageError, match="project_depth is -1; expected 0 or more"):
        SourceOptions(project_depth=-1)


def test_nothing_to_read_is_an_error_with_the_first_reason(tmp_path):
    write(tmp_path / "empty", "notes.md")
    with pytest.raises(SourceError) as caught:
        run([tmp_path / "empty"], tmp_path)
    assert str(caught.value) == f"no .py files in {tmp_path / 'empty'}"
    write(tmp_path / "empty", ".hidden/a.py")
    with pytest.raises(SourceError, match=r"; 1 left out, the first: empty/\.hidden: folder left out \(hidden\)"):
        run([tmp_path / "empty"], tmp_path)


def test_file_of_another_kind_is_an_error(tmp_path):
    write(tmp_path, "notes.md")
    message = r"notes.md: not a file of python \(one of .py, .zip, .whl, .*, nor published"
    with pytest.raises(SourceError, match=message):
        run([tmp_path / "notes.md"], tmp_path)


def test_standard_library_is_a_source_of_many_projects(tmp_path):
    sources, _ = resolve(["stdlib"], PYTHON, tmp_path, SourceOptions(), NullProgress())
    chunks, _ = plan(sources, NullProgress())
    members = [name for chunk in chunks for name in chunk.members]
    assert "json/decoder.py" in members and "argparse.py" in members
    assert not any("site-packages" in name or name.startswith("test/") for name in members)
    chunk = replace(chunks[0], members=("argparse.py", "json/decoder.py"))
    assert [document.project for document in sources[0].read(chunk)] == ["argparse", "json"]
    assert sources[0].origin.version.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    with pytest.raises(SourceError, match="stdlib holds Python, not javascript; name other sources"):
        run(["stdlib"], tmp_path, language=JAVASCRIPT)


@pytest.fixture
def local_index(tmp_path, monkeypatch):
    """A folder of wheels as pip's only index: real pip, no network."""
    index = tmp_path / "index"
    index.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(index), "NO_CACHE_DIR": "1"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return index


def make_wheel(index, name, version="1.0", tag="py3-none-any"):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(index / f"{name}-{version}-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_packages_are_downloaded_once_and_a_missing_one_is_a_skip(tmp_path, local_index):
    make_wheel(local_index, "alpha", "1.0")
    make_wheel(local_index, "alpha", "2.0")
    specs = ["pypi:Alpha", "pypi:alpha==1.0", "pypi:gamma"]
    documents, skips, sources = run(specs, tmp_path / "work")
    assert paths(documents) == ["alpha/alpha/__init__.py", "alpha~2/alpha/__init__.py"]
    assert {document.project for document in documents} == {"alpha"}
    assert [source.origin.version for source in sources] == ["2.0", "1.0"]
    detail = (
        "pip finds no wheel of 'gamma'; if it exists as a source distribution only, "
        "download that archive and name the file (pip would run its build script)"
    )
    assert skips == [Skip("pypi:gamma", "gamma", "package not available", detail)]
    for wheel in local_index.iterdir():
        wheel.unlink()
    again, _, _ = run(specs[:2], tmp_path / "work")
    assert paths(again) == paths(documents)


def test_wheel_for_another_platform_is_accepted(tmp_path, local_index):
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    other = "win_amd64" if sys.platform != "win32" else "manylinux2014_x86_64"
    make_wheel(local_index, "delta", tag=f"{version}-{version}-{other}")
    assert paths(run(["pypi:delta"], tmp_path / "work")[0]) == ["delta/delta/__init__.py"]


def test_source_distribution_is_never_built(tmp_path, local_index):
    (tmp_path / "evil-1.0").mkdir()
    trap = tmp_path / "evil-1.0/setup.py"
    trap.write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\n")
    with tarfile.open(local_index / "evil-1.0.tar.gz", "w:gz") as archive:
        archive.add(trap, "evil-1.0/setup.py")
    with pytest.raises(SourceError, match="none of the sources is available: pip finds no wheel of 'evil'"):
        run(["pypi:evil"], tmp_path / "work")
    assert not (tmp_path / "was_run").exists()


def test_emptied_download_is_an_error_with_a_remedy(tmp_path):
    folder = tmp_path / "work/downloads/pypi/alpha@newest"
    folder.mkdir(parents=True)
    message = r"expected one archive of alpha in .*, met none; remove that folder to download"
    with pytest.raises(SourceError, match=message):
        run(["pypi:alpha"], tmp_path / "work")


def test_failing_pip_is_quoted(tmp_path, local_index, monkeypatch):
    monkeypatch.setenv("PIP_PLATFORM", "")
    monkeypatch.setenv("PIP_TIMEOUT", "never")
    with pytest.raises(SourceError, match=r"pip cannot download 'alpha': .*never"):
        run(["pypi:alpha"], tmp_path / "work")


def test_missing_tools_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"pypi:alpha needs pip, which this Python does not have; install it \("):
        run(["pypi:alpha"], tmp_path / "work")
    with pytest.raises(SourceError, match=r"npm:beta needs npm, which is not on the PATH; install Node.js or name a"):
        run(["npm:beta"], tmp_path / "work")


NPM = shutil.which("npm")


@pytest.mark.skipif(NPM is None or os.name == "nt", reason="needs npm")
def test_npm_package_is_packed_without_scripts(tmp_path, monkeypatch):
    """The real npm packs a folder instead of a package of the registry."""
    package = write(tmp_path / "package", "index.js", "lib/deep.js")
    trap = f"touch {tmp_path / 'was_run'}"
    manifest = {"name": "@scope/beta", "version": "3.1.0", "scripts": {"prepack": trap, "prepare": trap}}
    (package / "package.json").write_text(json.dumps(manifest))
    fake = tmp_path / "bin/npm"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nshift 2\nexec "{NPM}" pack "{package}" "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    documents, _, sources = run(["npm:@scope/beta"], tmp_path / "work", language=JAVASCRIPT)
    assert sorted(paths(documents)) == ["@scope/beta/index.js", "@scope/beta/lib/deep.js"]
    assert {document.project for document in documents} == {"@scope/beta"}
    assert sources[0].origin.version == "3.1.0"
    assert not (tmp_path / "was_run").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_failing_npm_is_quoted(tmp_path, monkeypatch):
    fake = tmp_path / "npm"
    fake.write_text("#!/bin/sh\necho 'npm error 404 not found' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SourceError, match=r"npm cannot download 'beta@1\.0': npm error 404 not found"):
        run(["npm:beta@1.0"], tmp_path / "work")


def test_tool_without_an_answer_times_out(tmp_path, monkeypatch):
    def never(*_, **__):
        raise subprocess.TimeoutExpired("pip", 1)

    monkeypatch.setattr(packages.subprocess, "run", never)
    with pytest.raises(SourceError, match="pip cannot download 'alpha': no answer within 1800 seconds"):
        run(["pypi:alpha"], tmp_path / "work")
