"""The documentation: nothing undocumented, nothing out of date, no dead link."""

import importlib.util
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
from browser import CHROMIUM, Page

from rig.cli import cli
from rig.plugins.bundle import site
from rig.plugins.matching.matching import GRADER_VERSION
from rig.store.views import described

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CHANGELOG.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").rglob("*.md")),
]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", CHECKOUT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()


def rendered(page: str, text: str | None = None) -> str:
    """A page of the documentation as mkdocs gets it, or another text in its place."""
    source = text if text is not None else (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    result: str = generator.on_page_markdown(source, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))
    return result


COMMANDS = {" ".join(path): command for path, command in generator.commands(generator.cli)}
SCREENS = [f"reference/screens/{name}.md" for name in ("run", "conversation", "runs", "watch")]
VERBS = [name for name in COMMANDS if name.count(" ") == 1]


def test_what_pages_take_from_the_code_is_in_them_as_it_is() -> None:
    """After a change, `python docs/generate.py` writes it again."""
    pages = {path: path.read_text(encoding="utf-8") for path in (CHECKOUT / "docs").rglob("*.md")}
    made = [path for path, text in pages.items() if generator.MARKER.search(text)]
    assert len(made) >= 3
    assert [str(path) for path in made if generator.filled(pages[path]) != pages[path]] == []
    assert generator.KEYWORDS.read_text(encoding="utf-8") == generator.keywords_text()


def test_what_pages_import_of_rig_is_there() -> None:
    found = {
        line
        for page in PAGES
        for line in re.findall(r"(?m)^from rig\S* import [^\n(]+$", page.read_text("utf-8"))
    }
    assert len(found) > 8
    for line in sorted(found):
        exec(line, {})


def test_the_command_reference_is_made_of_the_help_texts() -> None:
    page = rendered("reference/cli.md")
    assert all(f" {name}\n" in page for name in COMMANDS)
    assert "--suite NAME|PATH" in page


def test_the_page_on_the_store_describes_its_columns() -> None:
    page = rendered("reference/store.md")
    assert all(f"### {name}\n" in page for name in described())


@pytest.mark.parametrize("page", SCREENS)
def test_the_keys_of_screens_are_their_bindings(page: str) -> None:
    assert "| key | |" in rendered(page)


def test_links_out_of_the_site_become_text() -> None:
    text = "[the model's card](../../models/a.md), [the changes](../../CHANGELOG.md), [a run](screens/run.md)"
    assert rendered("reference/metrics.md", text) == (
        "the model's card, [the changes](../changelog.md), [a run](screens/run.md)"
    )


@pytest.mark.slow
def test_the_site_is_built_whole_and_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rig: Callable[..., Any]
) -> None:
    """mkdocs is strict: a dead link or anchor fails."""
    site.build(tmp_path)
    written = {path.relative_to(tmp_path).with_suffix(".md") for path in tmp_path.rglob("*.html")}
    sources = {path.relative_to(CHECKOUT / "docs") for path in (CHECKOUT / "docs").rglob("*.md")}
    assert sources <= written
    assert "rig run" in (tmp_path / "reference" / "cli.html").read_text("utf-8")
    monkeypatch.setenv("RIG_DOCS", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert rig("docs", "comparing").code == 0
    assert opened == [(tmp_path / "how-to" / "comparing.html").as_uri()]
    assert "metrics" in rig("docs", "--list", "--json").json
    result = rig("docs", "comparin")
    assert result.code == 2
    assert "did you mean 'comparing'?" in result.err


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_pages_opened_from_the_disk_can_be_searched_and_ask_for_nothing_else(tmp_path: Path) -> None:
    site.build(tmp_path / "site")
    with Page(tmp_path / "profile") as page:
        page.open(tmp_path / "site" / "index.html", query="?q=bootstrap")
        until = time.monotonic() + 60
        while not page.evaluate("document.querySelectorAll('.md-search-result__item').length"):
            assert time.monotonic() < until, "nothing was found"
            time.sleep(0.1)
        assert {address.partition(":")[0] for address in page.requests} <= {"file", "data", "blob"}


def test_a_page_of_the_lab_hides_no_other_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rig: Callable[..., Any]
) -> None:
    monkeypatch.setenv("RIG_DOCS", str(tmp_path))
    for name in ("index", "how-to/bfcl", "lab/bfcl", "lab/medium"):
        page = tmp_path / f"{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.touch()
    for name, place in {"bfcl": "how-to/bfcl", "lab/bfcl": "lab/bfcl", "medium": "lab/medium"}.items():
        assert rig("docs", name, "--path").out == f"{tmp_path / place}.html\n"
        assert name in rig("docs", "--list").out


def test_without_pages_rig_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rig: Callable[..., Any]
) -> None:
    monkeypatch.setenv("RIG_DOCS", str(tmp_path))
    result = rig("docs")
    assert result.code == 2
    assert result.err == f"rig: {tmp_path}: there is no documentation ($RIG_DOCS names this folder)\n"
    monkeypatch.delenv("RIG_DOCS")
    monkeypatch.setattr(site, "CHECKOUT", None)
    monkeypatch.setattr(site, "DOCUMENTATION", tmp_path / "installed")
    assert "rig bundle" in rig("docs").err


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
    does = cli.does(click.Context(cli), name.removeprefix("rig "))  # type: ignore[attr-defined]
    assert does.endswith(".")
    assert len(does) < 72
    assert COMMANDS["rig"].get_help(click.Context(COMMANDS["rig"], terminal_width=92)).count(does) == 1


@pytest.mark.parametrize("name", VERBS)
def test_the_readme_shows_every_verb(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", README), f"the README never mentions `{name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    dead = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert dead == []


@pytest.mark.parametrize("report", sorted((CHECKOUT / "docs").rglob("*.html")), ids=lambda path: path.name)
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
