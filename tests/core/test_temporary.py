"""Temporary files and folders: the next call removes what a killed process left, and nothing else."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.core.files import is_running, started_s, temporary_folder, temporary_path, write
from rig.plugins.documents.folders import filling

WAITING = """
import sys, time
from pathlib import Path
{imports}
{begin}
    print("begun", flush=True)
    time.sleep(60)
"""


def killed(folder: Path, imports: str, begin: str) -> None:
    """Start this in a process of its own in a folder, and kill it once it has begun."""
    script = WAITING.format(imports=imports, begin=begin)
    process = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)


def test_what_a_killed_export_left_does_not_block_the_next(tmp_path: Path) -> None:
    begin = "with filling(Path('out')) as part:\n    (part / 'half').write_text('x')"
    killed(tmp_path, "from rig.plugins.documents.folders import filling", begin)
    assert [path.name[:6] for path in (tmp_path / "out").iterdir()] == [".part."]
    with filling(tmp_path / "out") as part:
        write("whole", part / "file")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


def test_what_a_killed_writer_left_beside_a_file_goes(tmp_path: Path) -> None:
    begin = "with writing(Path('out.csv')) as file:\n    file.write('half')"
    killed(tmp_path, "from rig.core.files import writing", begin)
    assert len(list(tmp_path.iterdir())) == 1
    write("whole", tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_of_a_process_that_lives_stays(tmp_path: Path) -> None:
    with temporary_folder(tmp_path, "work") as first, temporary_folder(tmp_path, "work") as second:
        assert first.is_dir()
        assert second.is_dir()
        with pytest.raises(RigError, match="is not an empty directory"), filling(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_only_what_was_made_for_this_purpose_by_rig_is_removed(tmp_path: Path) -> None:
    gone = temporary_path(tmp_path, "work").name.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-")
    kept = {".work", ".work.tar", "work.1-2-3", gone.replace(".work.", ".other."), gone.removeprefix(".")}
    for name in (gone, *kept):
        (tmp_path / name).write_text("")
    (tmp_path / gone.replace("work", "mine")).symlink_to(tmp_path / ".work")
    temporary_path(tmp_path, "work")
    temporary_path(tmp_path, "mine")
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_a_folder_of_thousands_of_files_is_searched_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Path] = []
    monkeypatch.setattr("rig.core.files.remove_leftovers", lambda folder, *_, **__: searched.append(folder))
    with filling(tmp_path / "made") as folder:
        for number in range(20):
            write("{}", folder / "a" / f"{number}.json", folders=True)
    assert len(list((tmp_path / "made" / "a").iterdir())) == 20
    assert searched == [tmp_path / "made"]


def test_what_another_machine_made_is_removed_when_it_is_old(tmp_path: Path) -> None:
    name = temporary_path(tmp_path, "work").name
    elsewhere = tmp_path / name.replace(name.split(".")[2][:8], "0" * 8)
    elsewhere.mkdir()
    temporary_path(tmp_path, "work")
    assert elsewhere.is_dir()
    os.utime(elsewhere, (0, 0))
    temporary_path(tmp_path, "work")
    assert not elsewhere.exists()


def test_a_later_process_with_the_same_number_is_another() -> None:
    started = started_s(os.getpid())
    assert started is not None
    assert is_running(os.getpid(), started)
    assert not is_running(os.getpid(), started - 3600)
    assert not is_running(2**40, started)
