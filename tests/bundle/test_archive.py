"""Archives: the same bytes for the same files, and nothing but plain files of sane names are read."""

import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.bundle.archive import (
    SUFFIXES,
    Digest,
    Member,
    Stream,
    blocks_of,
    digest_of,
    leads_elsewhere,
    reading,
    write,
)

needs_zstd = pytest.mark.skipif(not shutil.which("zstd"), reason="zstd is not installed")
EVERY_SUFFIX = [pytest.param(each, marks=needs_zstd) if each == ".tar.zst" else each for each in SUFFIXES]


def packed(folder: Path, suffix: str, contents: dict[str, bytes]) -> Path:
    members = []
    for number, (name, content) in enumerate(contents.items()):
        source = folder / f"source-{number}"
        source.write_bytes(content)
        members.append(Member(name, source, digest_of(source), executable=name.endswith(".sh")))
    write(folder / f"a{suffix}", suffix, members)
    return folder / f"a{suffix}"


def read(path: Path) -> dict[str, bytes]:
    with reading(path) as stream:
        return {name: b"".join(content) for name, _, content in stream.members()}


CONTENTS = {
    "top/install.sh": b"#!/bin/sh\n",
    "top/empty": b"",
    "top/ä/" + "long" * 20 + "/" + "name" * 20: b"x" * 513,
    "top/large": bytes(range(256)) * 9000,
}


@pytest.mark.parametrize("suffix", EVERY_SUFFIX)
def test_what_was_packed_is_read(tmp_path: Path, suffix: str) -> None:
    assert read(packed(tmp_path, suffix, CONTENTS)) == CONTENTS


@pytest.mark.parametrize("suffix", EVERY_SUFFIX)
def test_the_same_files_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    first = packed(tmp_path, suffix, CONTENTS).read_bytes()
    assert packed(tmp_path, suffix, CONTENTS).read_bytes() == first


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz", ".tar"])
def test_python_alone_unpacks_it(tmp_path: Path, suffix: str) -> None:
    path = packed(tmp_path, suffix, CONTENTS)
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert {m.name: archive.extractfile(m).read() for m in members} == CONTENTS  # type: ignore[union-attr]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", 315532800)}
    assert [m.name for m in members if m.mode == 0o755] == ["top/install.sh"]


def test_a_file_above_8_gib_has_a_size(tmp_path: Path) -> None:
    from rig.plugins.bundle.archive import _header

    size = 20 << 30
    info = tarfile.TarInfo.frombuf(
        _header(Member("top/model.gguf", tmp_path, Digest("", size))), "utf-8", "strict"
    )
    assert (info.name, info.size) == ("top/model.gguf", size)


@pytest.mark.parametrize("name", ["top/" + "n" * 101, "top/" + "/".join(["part"] * 60), "top/\udcff"])
def test_a_name_that_tar_has_no_room_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(RigError, match="cannot be packed"):
        packed(tmp_path, ".tar", {name: b""})


def test_a_file_that_changes_while_it_is_packed(tmp_path: Path) -> None:
    source = tmp_path / "model.gguf"
    source.write_bytes(b"as it is now")
    with pytest.raises(RigError, match=r"model\.gguf: changed while it was packed"):
        write(tmp_path / "a.tar", ".tar", [Member("m", source, Digest("0" * 64, 12))])


def test_without_the_program_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RigError, match=r"needs the program zstd.*\.tar\.gz"):
        packed(tmp_path, ".tar.zst", CONTENTS)


def hostile(change: Callable[[tarfile.TarInfo], None], content: bytes = b"") -> bytes:
    info = tarfile.TarInfo("top/file")
    info.size = len(content)
    change(info)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


LINKS = [
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
    tarfile.DIRTYPE,
    tarfile.XHDTYPE,
]


@pytest.mark.parametrize("kind", LINKS)
def test_only_plain_files_are_read(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(hostile(lambda info: setattr(info, "type", kind)))
    with pytest.raises(RigError, match=r"a\.tar: 'top/file' is not a plain file"):
        read(path)


NAMES = ["/etc/passwd", "../up", "top/../../up", "top/./here", "top//x", "C:/x", "top\\..\\x", "", "."]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    assert leads_elsewhere(name)
    path = tmp_path / "a.tar"
    path.write_bytes(hostile(lambda info: setattr(info, "name", name)))
    with pytest.raises(RigError, match="leads out of its folder"):
        read(path)


def test_nothing_without_an_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with path.open("wb") as file:
        file.truncate(60 << 30)
    with path.open("rb") as file, pytest.raises(RigError, match="continues after its end"):
        list(Stream(path, blocks_of(file), 4 << 20).members())


@given(st.text(st.characters(exclude_characters="/\\:\0", exclude_categories=["Cs"]), min_size=1))
def test_other_names_are_fine(name: str) -> None:
    assert leads_elsewhere(name) == (name in (".", ".."))


@pytest.mark.parametrize("suffix", EVERY_SUFFIX)
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.98])
def test_an_archive_that_is_cut_off(tmp_path: Path, suffix: str, kept: float) -> None:
    path = packed(tmp_path, suffix, CONTENTS)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(RigError, match=rf"{path.name}: "):
        read(path)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b", b"\xfd7zXZ\0", b"x" * 512, b"x" * 600])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with pytest.raises(RigError, match=r"a\.tar: "):
        read(path)


def test_nothing_may_follow_the_end(tmp_path: Path) -> None:
    path = packed(tmp_path, ".tar", CONTENTS)
    path.write_bytes(path.read_bytes() + bytes(512))
    assert read(path) == CONTENTS
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(RigError, match="continues after its end"):
        read(path)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "compress"), [(".tar.gz", gzip.compress), (".tar.xz", lzma.compress)])
def test_a_small_file_that_unpacks_to_a_large_one(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a{suffix}"
    large = tarfile.TarInfo("top/file")
    large.size = 1 << 33
    path.write_bytes(compress(large.tobuf(tarfile.GNU_FORMAT) + bytes(90 << 20)))
    tracemalloc.start()
    with pytest.raises(RigError, match="unpacks to more than 200 times its size"), reading(path) as stream:
        for _ in stream.members():
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20, peak


def test_an_xz_file_that_asks_for_memory(tmp_path: Path) -> None:
    compressor = shutil.which("xz")
    if compressor is None:
        pytest.skip("xz is not installed")
    done = subprocess.run(
        [compressor, "-c", "--lzma2=dict=1GiB,mf=hc3,nice=8,mode=fast"],
        input=b"x" * 100,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("there is not enough memory to make such a file")
    path = tmp_path / "a.tar.xz"
    path.write_bytes(done.stdout)
    with pytest.raises(RigError, match=r"a\.tar\.xz: cannot be read to its end"):
        read(path)
