"""Files whose headers are large for nothing: read in bounded time, or refused."""

import struct
from pathlib import Path

import pytest
from patience import in_a_moment

from rig.core.errors import RigError
from rig.plugins.llama.files import header
from rig.plugins.llama.files.header import Array, read_header

STRING, ARRAY, INT32, UINT8 = 8, 9, 5, 0


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def write(path: Path, *entries: tuple[str, bytes]) -> Path:
    """A GGUF file of metadata alone; values come with their types."""
    body = b"".join(text(name.encode()) + value for name, value in entries)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + body)
    return path


def array(kind: int, count: int, content: bytes) -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, count) + content


def test_numbers_of_a_small_array_are_read_as_they_are(tmp_path: Path) -> None:
    values = (-1, 2, 2**31 - 1)
    path = write(tmp_path / "a.gguf", ("a", array(INT32, 3, struct.pack("<3i", *values))))
    assert read_header(path).metadata["a"] == values


def test_no_more_than_so_many_numbers_are_decoded_in_all(tmp_path: Path) -> None:
    """Thousands of arrays, each small enough to be read, were read one number at a time."""
    content = array(INT32, 1_000, bytes(4_000))
    path = write(tmp_path / "a.gguf", *((f"k{number}", content) for number in range(4_000)))
    with in_a_moment():
        found = read_header(path).metadata
    read = [each for each in found.values() if isinstance(each, tuple)]
    assert sum(map(len, read)) == 65_000
    assert found["k3999"] == Array("INT32", 1_000)
    assert len(found) == 4_000


def test_more_texts_than_any_vocabulary_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header, "MAX_STRINGS", 100)
    few = write(tmp_path / "few.gguf", *((name, array(STRING, 50, text(b"x") * 50)) for name in "ab"))
    assert read_header(few).metadata == {"a": Array("STRING", 50), "b": Array("STRING", 50)}
    many = write(tmp_path / "many.gguf", *((name, array(STRING, 50, text(b"x") * 50)) for name in "abc"))
    with pytest.raises(RigError, match="claims more than 100 texts"):
        read_header(many)


def test_texts_longer_than_any_template_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header, "MAX_TEXT", 1 << 20)
    value = struct.pack("<I", STRING) + text(b"\xff" * 600_000)
    assert len(str(read_header(write(tmp_path / "one.gguf", ("a", value))).metadata["a"])) == 600_000
    with pytest.raises(RigError, match="claims texts of more than 1 MiB"):
        read_header(write(tmp_path / "two.gguf", ("a", value), ("b", value)))
