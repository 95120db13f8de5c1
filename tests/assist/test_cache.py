"""The cache of findings: bounded, and nothing that happens to it changes a result."""

import random
import sqlite3
import subprocess
import sys

import pytest

from rarename.assist.cache import Cache, cache_folder


def path_of(folder):
    return folder / "check.sqlite3"


def test_values_are_kept(tmp_path):
    Cache(tmp_path).put({b"a": b"one", b"b": b"two"})
    cache = Cache(tmp_path)
    assert (cache.get(b"a"), cache.get(b"b"), cache.get(b"c")) == (b"one", b"two", None)


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "value", "folder"])
def test_a_damaged_file_is_replaced_or_left_alone(tmp_path, damage):
    Cache(tmp_path).put({bytes([number]): b"value" * 500 for number in range(50)})
    path = path_of(tmp_path)
    if damage == "value":
        with sqlite3.connect(path) as database:
            database.execute("UPDATE entries SET value = zeroblob(length(value))")
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        content = path.read_bytes()
        path.write_bytes({"garbage": b"x" * len(content), "cut": content[: len(content) // 2], "empty": b""}[damage])
    cache = Cache(tmp_path)
    for number in range(50):
        assert cache.get(bytes([number])) in (None, b"value" * 500)
        cache.put({bytes([number]): b"new"})
    assert damage == "folder" or Cache(tmp_path).get(b"\x00") == b"new"


def test_old_values_are_deleted_when_it_is_full(tmp_path):
    cache, random_bytes = Cache(tmp_path, max_bytes=200_000), random.Random(0).randbytes
    for number in range(100):
        cache.put({str(number).encode(): random_bytes(10_000)})
    assert path_of(tmp_path).stat().st_size < 300_000
    assert cache.get(b"0") is None and cache.get(b"99") is not None


def test_values_in_use_are_deleted_last(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    cache.put({b"used": b"1"})
    cache.put({b"other": b"2"})
    monkeypatch.setattr("rarename.assist.cache.time.time", lambda: 1e10)
    later = Cache(tmp_path, max_bytes=0)
    assert later.get(b"used") == b"1"
    later.put({})
    assert (later.get(b"used"), later.get(b"other")) == (b"1", None)


def test_without_access_nothing_is_cached(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file")
    cache.put({b"a": b"1"})
    assert cache.get(b"a") is None
    monkeypatch.setattr("sqlite3.connect", lambda *_, **__: (_ for _ in ()).throw(sqlite3.OperationalError("readonly")))
    assert Cache(tmp_path).get(b"a") is None


WRITE_MANY = """
import pathlib, sys
from rarename.assist.cache import Cache
cache = Cache(pathlib.Path(sys.argv[1]))
for number in range(30):
    key = (sys.argv[2] + str(number)).encode()
    cache.put({key: b"value"})
    assert cache.get(key) == b"value"
"""


def test_two_processes_share_it(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, tmp_path, name]) for name in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    cache = Cache(tmp_path)
    assert all(cache.get(f"{name}{number}".encode()) == b"value" for name in "ab" for number in range(30))


def test_the_folder_is_that_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "rarename"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "rarename"
    assert Cache(tmp_path / "new")._path.parent.stat().st_mode & 0o077 == 0
