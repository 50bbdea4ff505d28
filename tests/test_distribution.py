"""What rig is installed as: a name that nobody else has, in every command that a page or a message gives."""

import re
import tomllib
from pathlib import Path

import pytest
from conftest import CHECKOUT

from rig import DISTRIBUTION, __version__

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "models/*.md", "rig/**/*.py", "benchmarks/**/*.py", "Makefile")
    for path in sorted(CHECKOUT.glob(pattern))
]
INSTALLS = [
    pytest.param(command, id=f"{path.relative_to(CHECKOUT)}: {command}")
    for path in TEXTS
    for command in re.findall(r"\b(?:pipx?|uv pip) install ([^`\n)#]*)", path.read_text(encoding="utf-8"))
]
THEIRS = {"pyarrow", "openpyxl", "ray", "datasette", "llama-cpp-python", "xllamacpp"}
"""Packages that rig works with, which may be installed by their own names."""


def test_the_package_is_what_the_project_says() -> None:
    assert (PROJECT["name"], PROJECT["version"]) == (DISTRIBUTION, __version__)
    assert DISTRIBUTION != "rig", "`rig` on the package index is somebody else's"


@pytest.mark.parametrize("command", INSTALLS)
def test_a_command_installs_rig_or_a_package_that_is_named_as_such(command: str) -> None:
    words = re.sub(r"-c \S+|(?<!\S)--?[\w-]+", "", command).replace('"', "").replace("'", "").split()
    for word in filter(None, words):
        name, _, extras = word.rstrip("],;").partition("[")
        is_own_wheel = re.fullmatch(rf"\./(?:ci/)?{DISTRIBUTION.replace('-', '_')}-\S+\.whl", name)
        assert is_own_wheel or name in (".", DISTRIBUTION, *THEIRS), f"{command!r} installs {name}"
        assert set(filter(None, extras.split(","))) <= PROJECT["optional-dependencies"].keys()


def test_an_extra_names_the_package_itself() -> None:
    lines = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    assert not [line for line in lines if re.match(r"rig\b(?!-)", line)]
    assert Path(CHECKOUT, "Makefile").read_text(encoding="utf-8").count("-e '.[dev]'") == 1
