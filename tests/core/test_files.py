"""Files are read within bounds, and written whole or not at all, over nothing but files."""

import csv
import errno
import json
import math
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.budget import DEEPEST
from rig.core.errors import RigError
from rig.core.files import json_text, read_json, read_text, write, writing
from rig.plugins.documents.folders import csv_line, filling


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"

    def break_off() -> None:
        with writing(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert list(tmp_path.iterdir()) == []
    write("one", path)
    with pytest.raises(RigError, match=r"out.txt: exists; choose a new file$"):
        write("two", path)
    with pytest.raises(RigError, match=r"out.txt: exists; choose a new file, or --force"):
        write("two", path, force=False)
    write("two", path, force=True)
    assert path.read_text() == "two"
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_a_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    write("", tmp_path / "ours")
    (tmp_path / "theirs").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_a_device_is_written_to_and_stays_a_device() -> None:
    before = os.stat("/dev/null")
    write("text", Path("/dev/null"), force=True)
    write("text", Path("/dev/null"))
    assert os.stat("/dev/null").st_rdev == before.st_rdev


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write("through", pipe, force=True)
    reader.join(10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_what_a_link_points_to_is_written_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link, target = tmp_path / "link", tmp_path / "folder" / "target"
    link.symlink_to(target)
    write("one", link)
    write("two", link, force=True)
    assert link.is_symlink()
    assert target.read_text() == "two"
    assert [each.name for each in (tmp_path / "folder").iterdir()] == ["target"]


def test_a_link_that_waits_beside_the_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for trap in ("r.html.part", ".r.html", "r.html.tmp"):
        (tmp_path / trap).symlink_to(victim)
    write("report", tmp_path / "r.html")
    assert victim.read_text() == "precious"


def test_two_that_write_one_path_do_not_take_each_others_parts_away(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with writing(path, force=True) as first, writing(path, force=True) as second:
        first.write("first")
        second.write("second")
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def _leave_half(folder: Path) -> None:
    with filling(folder) as part:
        write("one", part / "one")
        write("two", part / "deep" / "two", folders=True)
        write("three", part / f"{'x' * 300}")


def test_a_folder_is_filled_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "new" / "out", tmp_path / "empty"):
        with pytest.raises(RigError, match=f"^{folder}/x+: cannot be written: File name too long$"):
            _leave_half(folder)
    assert [each.name for each in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []
    for folder in (tmp_path / "new" / "out", tmp_path / "empty"):
        with filling(folder) as part:
            write("one", part / "one")
            write("two", part / "deep" / "two", folders=True)
            assert "one" not in os.listdir(folder)
        assert sorted(os.listdir(folder)) == ["deep", "one"]
        assert (folder / "deep" / "two").read_text() == "two"


def test_a_folder_is_not_filled_if_its_files_cannot_all_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "two" and target.parent == tmp_path / "out":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)

    def fill() -> None:
        with filling(tmp_path / "out") as part:
            for name in ("one", "three", "two"):
                write(name, part / name)

    with pytest.raises(RigError, match="out: cannot be written: Input/output error"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_anything_in_it_is_not_filled(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    for folder in (tmp_path, tmp_path / "mine"):
        with (
            pytest.raises(RigError, match=f"^{folder}: exists and is not an empty directory"),
            filling(folder),
        ):
            raise AssertionError
    with (
        pytest.raises(RigError, match="cannot be written: Not a directory"),
        filling(tmp_path / "mine" / "out"),
    ):
        raise AssertionError
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("place", ["", "no/out", "file/out"])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RigError, match="cannot be written") as caught:
        write("text", Path(f"{tmp_path}/{place}"), force=True)
    assert "\n" not in str(caught.value)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.slow
@given(_VALUES)
def test_json_is_json(value: object) -> None:
    read = json.loads(json_text(value), parse_constant=_no_constant)  # type: ignore[arg-type]
    if "nan" not in str(value) and "inf" not in str(value):
        assert read == value


def test_numbers_that_json_has_no_form_for_become_texts() -> None:
    assert json.loads(json_text({"a": [math.inf, -math.inf, math.nan, 1.5]})) == {
        "a": ["inf", "-inf", "nan", 1.5]
    }


@given(st.lists(st.text() | st.integers() | st.floats(allow_nan=False), min_size=1, max_size=4))
def test_no_cell_begins_like_a_formula(cells: list[object]) -> None:
    (read,) = csv.reader([csv_line(cells)]) if "\0" not in str(cells) else ([],)
    for cell, text in zip(cells, read, strict=False):
        if isinstance(cell, str):
            assert not text.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert text.removeprefix("'") == cell or text == cell
        else:
            assert text == str(cell)


def test_a_cell_can_be_had_as_it_is() -> None:
    assert csv_line(["=1+1", -2.5, "plain"]) == "'=1+1,-2.5,plain"
    assert csv_line(["=1+1", -2.5, "plain"], raw=True) == "=1+1,-2.5,plain"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write("Grüße\r\n", tmp_path / "a")
    assert read_text(tmp_path / "a") == "Grüße\r\n"
    write('{"a": [1, null]}', tmp_path / "b")
    assert read_json(tmp_path / "b") == {"a": [1, None]}


def test_what_would_never_end_is_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(RigError, match=f"{name}: is not a regular file"):
            read_json(tmp_path / name)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"x" * ((1 << 20) + 1), "larger than 1 MiB"),
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[" * 5000, "nested too deeply"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "nested deeper than 500 levels"),
        (b'{"a":' * 980 + b"1" + b"}" * 980, "nested deeper than|nested too deeply"),
    ],
)
def test_what_is_no_json_to_be_worked_with_is_one_line(tmp_path: Path, data: bytes, fault: str) -> None:
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(RigError, match=fault) as caught:
        read_json(tmp_path / "a.json", 1 << 20)
    assert str(caught.value).startswith(f"{tmp_path / 'a.json'}: ")


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    for place in ("none", ""):
        with pytest.raises(RigError, match="cannot be read"):
            read_text(tmp_path / place)
