"""Archives are hostile until proven otherwise: nothing escapes or explodes, what can be read is kept."""

import io
import struct
import tarfile
import tracemalloc
import zipfile
from contextlib import contextmanager

import pytest

from rarename.corpus import document
from rarename.corpus.archives import TarSource, ZipSource
from rarename.corpus.document import Document, Origin, Skip, SourceOptions, make_chunks


def source_of(path, *, kind="archive", options=None):
    cls = ZipSource if zipfile.is_zipfile(path) or path.suffix in (".zip", ".whl") else TarSource
    return cls(0, Origin(path.name, kind, "pkg"), path, "pkg", (".py",), options or SourceOptions())


def read_all(source):
    """The documents by path, and all skips."""
    chunks, skips = source.chunks()
    found = [item for chunk in chunks for item in source.read(chunk)]
    skips = skips + [item for item in found if isinstance(item, Skip)]
    return {item.path: item.content for item in found if isinstance(item, Document)}, skips


def reasons(skips):
    return [(skip.path, skip.reason, skip.detail) for skip in skips]


def reasons_of(path, **options):
    return reasons(read_all(source_of(path, options=SourceOptions(**options)))[1])


def make(path, members):
    """A zip or a tar, by the ending of its path."""
    if path.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                archive.writestr(name, content)
        return path
    compression = path.suffix.replace("tgz", "gz")[1:]
    with tarfile.open(path, "w" if compression == "tar" else f"w:{compression}") as archive:
        for name, content in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if content is not None:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content or b""))
    return path


@contextmanager
def little_memory():
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


GOOD = [("a.py", b"a = 1\n"), ("lib/b.py", b"b = 2\n"), ("README.md", b"text")]


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz", "tgz"])
def test_every_kind_of_archive_is_read(tmp_path, ending):
    found = read_all(source_of(make(tmp_path / f"x.{ending}", GOOD)))
    assert found == ({"pkg/a.py": b"a = 1\n", "pkg/lib/b.py": b"b = 2\n"}, [])


HOSTILE_NAMES = [
    ("../up.py", "leads out of the archive"),
    ("a/../../up.py", "leads out of the archive"),
    ("/etc/abs.py", "absolute"),
    ("C:/drive.py", "absolute"),
    ("..\\win.py", "leads out of the archive"),
    ("new\nline.py", "has control characters"),
    ("x" * 1100 + ".py", "longer than 1000 characters"),
]


@pytest.mark.parametrize(("name", "fault"), HOSTILE_NAMES)
@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_hostile_name_is_left_out(tmp_path, ending, name, fault):
    path = make(tmp_path / f"x.{ending}", [(name, b"1"), ("good.py", b"2")])
    documents, skips = read_all(source_of(path))
    assert documents == {"pkg/good.py": b"2"}
    assert [(skip.reason, skip.detail) for skip in skips] == [("unsafe name", fault)]
    assert all(skip.path.isprintable() for skip in skips)
    assert sorted(file.name for file in tmp_path.rglob("*")) == [path.name]


def test_name_with_nul_does_not_hide_its_ending(tmp_path):
    path = make(tmp_path / "x.zip", [("harmlessX.py", b"1")])
    path.write_bytes(path.read_bytes().replace(b"harmlessX.py", b"harmless\0.py"))
    assert reasons_of(path) == [("pkg/harmless%00.py", "unsafe name", "has control characters")]


def test_name_that_cannot_be_printed_is_escaped(tmp_path):
    path = make(tmp_path / "x.tar", [("odd\u202e\udcff.py", b"1")])
    assert read_all(source_of(path)) == ({"pkg/odd%E2%80%AE%FF.py": b"1"}, [])


@pytest.mark.parametrize("ending", ["zip", "tar"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_first_of_two_equal_names_is_kept(tmp_path, ending):
    path = make(tmp_path / f"x.{ending}", [("a.py", b"1"), ("./a.py", b"2"), ("a.py", b"3")])
    documents, skips = read_all(source_of(path))
    assert documents == {"pkg/a.py": b"1"}
    assert reasons(skips) == [("pkg/a.py", "name occurs twice", "the first one is kept")] * 2


def test_links_and_devices_of_a_tar_are_left_out(tmp_path):
    members = [
        (special("soft.py", tarfile.SYMTYPE, "/etc/passwd"), None),
        (special("hard.py", tarfile.LNKTYPE, "good.py"), None),
        (special("device.py", tarfile.CHRTYPE), None),
        (special("pipe", tarfile.FIFOTYPE), None),
        ("good.py", b"1"),
    ]
    documents, skips = read_all(source_of(make(tmp_path / "x.tar.gz", members)))
    assert documents == {"pkg/good.py": b"1"}
    assert reasons(skips) == [
        ("pkg/soft.py", "link", "symbolic link"),
        ("pkg/hard.py", "link", "hard link"),
        ("pkg/device.py", "not a regular file", ""),
        ("pkg/pipe", "not a regular file", ""),
    ]


def test_link_of_a_zip_is_left_out(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, mode in (("link.py", 0o120777), ("pipe.py", 0o010644)):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, "/etc/passwd")
    skips = [("pkg/link.py", "link", "symbolic link"), ("pkg/pipe.py", "not a regular file", "")]
    assert reasons_of(tmp_path / "x.zip") == skips


def test_archive_within_an_archive_is_not_opened(tmp_path):
    path = make(tmp_path / "x.tar", [("data.tar.gz", b"1"), ("a.py", b"1")])
    assert reasons_of(path) == [("pkg/data.tar.gz", "archive inside a folder or archive", "")]


@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_installed_packages_are_left_out(tmp_path, ending):
    members = [*GOOD, ("node_modules/x/c.py", b"1"), ("node_modules/d.py", b"1"), ("lib/node_modules/e.py", b"1")]
    documents, skips = read_all(source_of(make(tmp_path / f"x.{ending}", members)))
    assert list(documents) == ["pkg/a.py", "pkg/lib/b.py"]
    folders = ["pkg/lib/node_modules", "pkg/node_modules"]
    assert sorted(reasons(skips)) == [(folder, "folder left out", "installed packages") for folder in folders]


def test_large_member_is_left_out(tmp_path):
    members = [("big.py", bytes(range(256)) * 10), ("a.py", b"1")]
    options = SourceOptions(max_file_bytes=1000)
    for name in ("x.zip", "x.tar"):
        documents, skips = read_all(source_of(make(tmp_path / name, members), options=options))
        assert documents == {"pkg/a.py": b"1"}
        assert reasons(skips) == [("pkg/big.py", "over 1000 bytes", "2560 bytes")]


def test_zip_bomb_is_detected_by_its_ratio(tmp_path):
    path = make(tmp_path / "x.zip", [("bomb.py", bytes(9_000_000))])
    with zipfile.ZipFile(path) as archive:
        packed = archive.getinfo("bomb.py").compress_size  # differs between versions of zlib
    assert reasons_of(path) == [("pkg/bomb.py", "unusual compression", f"{packed} bytes hold 9000000")]


def test_unknown_compression_is_left_out(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.py", "x" * 1000)
    detail = "method 12; expected stored or deflated"
    assert reasons_of(tmp_path / "x.zip") == [("pkg/a.py", "unusual compression", detail)]


def test_members_of_a_zip_share_one_budget(tmp_path):
    path = make(tmp_path / "x.zip", [(f"{number}.py", b"x" * 400) for number in range(5)])
    documents, skips = read_all(source_of(path, options=SourceOptions(max_archive_bytes=1000)))
    assert len(documents) == 2
    assert reasons(skips) == [("pkg", "archive over its limits", "over 1000 bytes, uncompressed")]


def test_wrong_declared_size_of_a_zip_member_is_detected(tmp_path):
    for declared in (5, 50_000):
        path = make(tmp_path / f"{declared}.zip", [("a.py", b"x" * 5000), ("b.py", b"fine")])
        content = path.read_bytes()
        path.write_bytes(content.replace(struct.pack("<L", 5000), struct.pack("<L", declared)))
        documents, skips = read_all(source_of(path))
        assert documents == {"pkg/b.py": b"fine"}
        assert [(skip.path, skip.reason) for skip in skips] == [("pkg/a.py", "cannot be read")]


def test_encrypted_member_is_left_out(tmp_path):
    path = make(tmp_path / "x.zip", [("secret.py", b"1")])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert reasons_of(path) == [("pkg/secret.py", "encrypted", "")]


def test_directory_too_large_to_load_is_refused(tmp_path):
    path = make(tmp_path / "x.zip", [(f"{number}{'n' * 200}.py", b"1") for number in range(20)])
    detail = "x.zip has a directory of 5010 bytes, too large for 5 members"
    assert read_all(source_of(path, options=SourceOptions(max_members=5)))[0] == {}
    assert reasons_of(path, max_members=5) == [("pkg", "archive is broken", detail)]


@pytest.mark.parametrize(("name", "detail"), [("x.zip", "3 members beyond 5"), ("x.tar", "members beyond 5")])
def test_members_over_the_limit_are_left_out(tmp_path, name, detail):
    path = make(tmp_path / name, [(f"{number}.py", b"1") for number in range(8)])
    documents, skips = read_all(source_of(path, options=SourceOptions(max_members=5)))
    assert len(documents) == 5
    assert reasons(skips) == [("pkg", "archive over its limits", detail)]


def test_compressed_tar_bomb_is_not_unpacked_beyond_its_budget(tmp_path):
    class Zeros(io.RawIOBase):
        def read(self, size=-1):
            return bytes(size)

    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=9) as archive:
        archive.addfile(tarfile.TarInfo("first.py"))
        info = tarfile.TarInfo("zeros.bin")
        info.size = 150_000_000
        archive.addfile(info, Zeros())
        archive.addfile(tarfile.TarInfo("last.py"))
    with little_memory():
        documents, skips = read_all(source_of(path))
    assert documents == {"pkg/first.py": b""}
    assert reasons(skips) == [("pkg", "archive over its limits", "over 64000000 bytes, uncompressed")]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_giant_tar_header_is_not_loaded(tmp_path, kind):
    info = special("header", kind)
    info.size = 30_000_000
    (tmp_path / "x.tar").write_bytes(info.tobuf() + bytes(30_000_000))
    with little_memory():
        skips = reasons_of(tmp_path / "x.tar")
    assert skips == [("pkg", "archive over its limits", "a header larger than any honest one")]


def test_chain_of_tar_headers_does_not_exhaust_the_stack(tmp_path):
    info = special("header", tarfile.GNUTYPE_LONGNAME)
    info.size = 10
    block = info.tobuf() + b"long name\0".ljust(512, b"\0")
    (tmp_path / "x.tar").write_bytes(block * 1500)
    skips = read_all(source_of(tmp_path / "x.tar"))[1]
    assert [skip.reason for skip in skips] == ["archive is broken"]


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_truncated_archive_is_read_up_to_the_damage_and_reported(tmp_path, ending):
    members = [(f"{number}.py", bytes([65 + number]) * 3000) for number in range(20)]
    content = make(tmp_path / f"whole.{ending}", members).read_bytes()
    for tenth in range(10):
        path = tmp_path / f"cut{tenth}.{ending}"
        path.write_bytes(content[: len(content) * tenth // 10])
        documents, skips = read_all(source_of(path))
        assert all(found == members[int(name[4:-3])][1] for name, found in documents.items())
        if len(documents) < 20:
            assert {skip.reason for skip in skips} <= {"archive is broken", "cannot be read"}
            assert skips
        if ending == "tar":
            assert len(documents) >= 2 * tenth - 3


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz"])
def test_flipped_bytes_never_raise(tmp_path, ending):
    path = make(tmp_path / f"x.{ending}", GOOD)
    content = path.read_bytes()
    for offset in range(0, len(content), max(1, len(content) // 150)):
        path.write_bytes(content[:offset] + bytes([content[offset] ^ 0xFF]) + content[offset + 1 :])
        read_all(source_of(path))


def test_sparse_file_ends_the_reading(tmp_path):
    info = special("sparse.py", tarfile.GNUTYPE_SPARSE)
    path = make(tmp_path / "x.tar", [("a.py", b"1"), (info, None)])
    documents, skips = read_all(source_of(path))
    assert documents == {"pkg/a.py": b"1"}
    assert reasons(skips) == [("pkg", "archive is broken", "the rest cannot be read: sparse file")]


def test_a_file_that_is_not_an_archive_is_reported(tmp_path):
    for name, text in (("x.zip", "x.zip cannot be opened: File is not a zip file"),
                       ("x.tar.gz", "the rest cannot be read: ")):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(b"no archive at all")
        documents, skips = read_all(source_of(path))
        assert documents == {} and skips[0].reason == "archive is broken"
        assert skips[0].detail.startswith(text)


def test_a_chunk_ends_before_either_limit_is_exceeded(monkeypatch):
    monkeypatch.setattr(document, "SHARD_FILES", 2)
    monkeypatch.setattr(document, "SHARD_BYTES", 50)
    chunks = [(each.first, each.count, each.num_bytes, each.offset) for each in make_chunks(0, [5, 45, 5, 46, 90, 5])]
    assert chunks == [(0, 2, 50, 0), (2, 1, 5, 50), (3, 1, 46, 55), (4, 1, 90, 101), (5, 1, 5, 191)]
    assert make_chunks(0, []) == []
    assert [chunk.count for chunk in make_chunks(0, [1] * 100, is_stream=True)] == [13] * 7 + [9]
    assert [chunk.count for chunk in make_chunks(0, [30] * 16, is_stream=True)] == [2] * 8


def test_chunks_read_the_same_files(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "SHARD_FILES", 5)
    members = [(f"{number:03}.py", b"x" * number) for number in range(100)]
    for name, num_chunks in (("x.zip", 20), ("x.tar.gz", 8)):
        source = source_of(make(tmp_path / name, members))
        assert len(source.chunks()[0]) == num_chunks
        assert read_all(source) == ({f"pkg/{name}": content for name, content in members}, [])


def test_wheel_drops_what_packaging_added(tmp_path):
    members = [
        ("six/__init__.py", b"1"), ("six/tests/test_six.py", b"2"), ("six-1.0.data/purelib/six2.py", b"3"),
        ("six-1.0.data/scripts/tool.py", b"4"), ("six-1.0.dist-info/METADATA", b"5"),
    ]  # fmt: skip
    documents, _ = read_all(source_of(make(tmp_path / "six-1.0-py3-none-any.whl", members), kind="pypi"))
    files = ["scripts/tool.py", "six/__init__.py", "six/tests/test_six.py", "six2.py"]
    assert list(documents) == [f"pkg/{name}" for name in files]


def test_npm_package_drops_its_first_folder_and_depth_names_projects(tmp_path):
    path = make(tmp_path / "x.tgz", [("package/lib/a.py", b"1")])
    assert list(read_all(source_of(path, kind="npm"))[0]) == ["pkg/lib/a.py"]
    source = source_of(path, options=SourceOptions(project_depth=2))
    (found,) = source.read(source.chunks()[0][0])
    assert (found.path, found.project) == ("pkg/package/lib/a.py", "package/lib")
