"""The documentation: nothing undocumented, nothing out of date, no dead link."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import click
import pytest

from rig.cli import VERBS as BY_NAME
from rig.scoring import GRADER_VERSION

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", CHECKOUT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()
COMMANDS = {" ".join(path): command for path, command in generator.commands()}
VERBS = [name for name in COMMANDS if name.count(" ") == 1]


def test_the_command_reference_is_what_help_says() -> None:
    written = (CHECKOUT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == generator.render(), "run `make docs`"


def test_the_columns_of_the_store_are_those_it_describes() -> None:
    written = (CHECKOUT / "docs" / "store.md").read_text(encoding="utf-8")
    assert written == generator.render_store(), "run `make docs`"


@pytest.mark.parametrize("page", generator.SCREENS, ids=lambda page: page.name)
def test_the_keys_of_screens_are_their_bindings(page: Path) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == generator.render_screen(page), "run `make docs`"
    assert "| key | |" in written


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert command.help, f"{name} has no help"
    without = [
        option.opts
        for option in command.params
        if isinstance(option, click.Option) and not option.help and not option.hidden
    ]
    assert without == []


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_in_short_what_it_does(name: str) -> None:
    verb = BY_NAME[name.removeprefix("rig ")]
    assert verb.does.endswith(".")
    assert len(verb.does) < 72
    assert COMMANDS["rig"].get_help(click.Context(COMMANDS["rig"], terminal_width=92)).count(verb.does) == 1


@pytest.mark.parametrize("name", VERBS)
def test_the_readme_shows_every_verb(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", README), f"the README never mentions `{name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    dead = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert dead == []


@pytest.mark.parametrize("report", sorted((CHECKOUT / "docs").glob("*.html")), ids=lambda path: path.name)
def test_a_report_of_an_earlier_grader_says_so(report: Path) -> None:
    """So does the page beside it. One of the present grader need not; when that changes, this test fails."""
    text = report.read_text(encoding="utf-8")
    found = re.search(r"<code>grader\.grader_version</code><td colspan=\d+><code>(\d+)</code>", text)
    assert found, "it does not say which grader it is of"
    if found[1] != GRADER_VERSION:
        notice = f"of version {found[1]} of the grader"
        assert notice in text.partition("<nav>")[0]
        assert notice in report.with_suffix(".md").read_text(encoding="utf-8")


def test_every_environment_variable_is_in_the_readme() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (CHECKOUT / "rig").rglob("*.py"))
    used = {name for source in sources for name in re.findall(r"""environ[^\n]*["'](RIG_\w+)["']""", source)}
    assert used
    assert {name for name in used if name not in README} == set()


def test_every_make_target_is_in_the_readme() -> None:
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets
    assert {target for target in targets[1].split() if f"make {target}" not in README} == set()
