"""Source files under the paths that a user names. `tests/assist/test_check.py` has the messages of the command."""

import io
import sys

import pytest

from rarename.discovery import MAX_FILE_BYTES, Files, Skipped, SourceFile, is_minified, list_files
from rarename.syntax import JAVASCRIPT, PYTHON


def write(folder, **sizes):
    for name, size in sizes.items():
        (folder / f"{name}.py").write_bytes(b"x" * size)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 2_000, False),
        ("x" * 2_001, True),
        (("x" * 199 + "\n") * 20 + "x" * 200, False),
        (("x" * 200 + "\n") * 20 + "x" * 201, True),
    ],
)
def test_minified_is_over_2000_characters_and_over_200_per_line(text, expected):
    assert is_minified(text) == expected


def test_files_up_to_the_limit_are_listed_in_order_and_read(tmp_path):
    write(tmp_path, z=1, a=MAX_FILE_BYTES, m=MAX_FILE_BYTES + 1)
    assert MAX_FILE_BYTES == 1_000_000
    files = Files([str(tmp_path), str(tmp_path / "z.py"), str(tmp_path)])
    assert [(file.path, file.language.name, len(file.content)) for file in files] == [
        (f"{tmp_path}/a.py", "python", MAX_FILE_BYTES),
        (f"{tmp_path}/z.py", "python", 1),
    ]
    assert len(files) == 2
    assert files.skipped[0] == Skipped(f"{tmp_path}/m.py", None, "over 1 MB", f"{MAX_FILE_BYTES + 1} bytes")
    assert files.skipped[0].explanation == "over 1 MB: 1000001 bytes"


def test_a_file_that_grows_after_the_listing_is_skipped(tmp_path):
    write(tmp_path, a=1, b=1)
    files = Files([str(tmp_path)])
    write(tmp_path, a=MAX_FILE_BYTES + 1)
    (tmp_path / "b.py").unlink()
    assert list(files) == [
        Skipped(f"{tmp_path}/a.py", None, "over 1 MB", "1000001 bytes"),
        Skipped(f"{tmp_path}/b.py", None, "cannot be read", "No such file or directory"),
    ]


def test_a_named_script_is_of_the_language_of_its_first_line(tmp_path):
    (tmp_path / "tool").write_text("#!/usr/bin/env node\n")
    (tmp_path / "other").write_text("#!/bin/sh\n")
    files = Files([str(tmp_path / "tool"), str(tmp_path / "other")])
    assert [(file.path, file.language) for file in files] == [(f"{tmp_path}/tool", JAVASCRIPT)]
    assert [skip.reason for skip in files.skipped] == ["unknown ending"]


@pytest.mark.parametrize(("size", "is_read"), [(MAX_FILE_BYTES, True), (MAX_FILE_BYTES + 1, False)])
def test_standard_input_has_the_same_limit_and_is_read_once(monkeypatch, size, is_read):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * size)))
    (found,) = Files(["-", "-"], only=PYTHON)
    assert isinstance(found, SourceFile if is_read else Skipped)
    assert found.path == "<stdin>"


def test_a_folder_can_have_other_excluded_folders(tmp_path):
    for name in ("node_modules", "tests"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, a=1)
    (tmp_path / "pyvenv.cfg").touch()  # a virtual environment that the user names is listed
    files, skipped = list_files(tmp_path, (".py",), 10, excluded={"tests": "tests"})
    assert [file.name for file in files] == ["node_modules/a.py"]
    assert skipped == [Skipped("tests", None, "folder left out", "tests")]
