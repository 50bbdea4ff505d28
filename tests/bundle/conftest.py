"""Bundles of a few small wheels: everything else about them is real."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from bundles import small_wheel

from rig.plugins.bundle import contents
from rig.plugins.bundle import wheels as packing
from rig.plugins.bundle.built import Build
from rig.plugins.bundle.contents import Contents, make
from rig.plugins.bundle.wheels import Wheel

COMMAND = "import sys\n\ndef main():\n    print('rig was given', sys.argv[1:])\n"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """rig, llama.cpp and pip are a few lines each, and the documentation is two pages."""

    def wheels(folder: Path, given: Iterable[Path] = (), extras: Iterable[str] = ()) -> list[Wheel]:
        rig = small_wheel(folder, "rig", {"toy.py": COMMAND}, command="rig = toy:main")
        llama = small_wheel(folder, "llama-cpp-python", {"llama_cpp/__init__.py": ""})
        pip = small_wheel(folder, "pip", {"pip/__main__.py": "raise SystemExit(9)"})
        named = [("llama-cpp-python", llama), ("pip", pip), ("rig", rig)]
        return [Wheel(name, "1.0", path, is_named=False) for name, path in named]

    def build(folder: Path) -> None:
        folder.mkdir()
        for name in ("index.html", "other.html"):
            (folder / name).write_text(name)

    monkeypatch.setattr(contents, "wheels", wheels)
    monkeypatch.setattr(contents.site, "build", build)
    monkeypatch.setattr(
        contents, "built_for", lambda site: Build("CPU : SSE3 = 1 | AVX = 0 | REPACK = 1 | ", False)
    )


@pytest.fixture
def model(write_gguf: Callable[..., Path]) -> Path:
    return write_gguf("some model, ü.gguf")


@pytest.fixture
def bundle(small: None, model: Path, tmp_path: Path) -> Callable[..., Path]:
    """Makes a bundle and returns its path."""

    def made(name: str = "b.tar.gz", **wanted: Any) -> Path:
        path = tmp_path / name
        make(path, Contents(**{"models": (str(model),), **wanted}), force=True, say=lambda text: None)
        return path

    return made


@pytest.fixture
def real_pip(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    """The toy of rig, with pip as it is installed here."""
    toys = contents.wheels

    def wheels(folder: Path, given: Iterable[Path] = (), extras: Iterable[str] = ()) -> list[Wheel]:
        (real,) = [each for each in _pip_alone(folder) if each.name == "pip"]
        return [real if each.name == "pip" else each for each in toys(folder, given, extras)]

    monkeypatch.setattr(contents, "wheels", wheels)


def _pip_alone(folder: Path) -> list[Wheel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "ROOTS", ("pip",))
        return packing.wheels(folder)
