"""The documentation as HTML: links lead to pages that are there, and nothing in it is taken for a tag."""

import re
from pathlib import Path

import pytest

from rig.bundle.pages import anchor, as_page, documentation

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    written = list(documentation(CHECKOUT, folder))
    assert len(set(written)) == len(written)
    return folder


@pytest.mark.slow
def test_every_page_is_there(pages: Path) -> None:
    for source in (
        "README.md",
        "CHANGELOG.md",
        "docs/cli.md",
        "docs/screens/run.md",
        "models/smollm2-135m-tools.md",
    ):
        assert (pages / f"{source}.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (pages / "docs" / "live.svg").is_file()
    assert (pages / "docs" / "quantization.html").is_file()


def test_links_between_pages_lead_somewhere(pages: Path) -> None:
    ids: dict[Path, set[str]] = {}
    links = []
    for page in pages.rglob("*.md.html"):
        text = page.read_text(encoding="utf-8")
        ids[page.resolve()] = set(re.findall(r' id="([^"]+)"', text))
        links += [(page, *found) for found in re.findall(r'(?:href|src)="([^":#]*)(?:#([^"]*))?"', text)]
    assert len(links) > 50
    dead = []
    for page, target, fragment in links:
        place = (page.parent / target).resolve() if target else page.resolve()
        if target.endswith((".md.html", ".svg", ".html", "")) and target != "LICENSE":
            if not place.exists() and (CHECKOUT / page.relative_to(pages).parent / target).exists():
                continue
            if not place.exists() or (fragment and fragment not in ids.get(place, {fragment})):
                dead.append((page.name, target, fragment))
    assert dead == []


def test_tags_are_text_and_comments_are_gone() -> None:
    page = as_page("# A <b>\n\n<!-- made by\nsomething -->\n\n<script>alert(1)</script>\n\n`<i>`\n", "<t>")
    assert "<script>" not in page
    assert "made by" not in page
    assert "<title>&lt;t&gt;</title>" in page
    assert "<code>&lt;i&gt;</code>" in page


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("cli.md", "cli.md.html"),
        ("../README.md#words", "../README.md.html#words"),
        ("live.svg", "live.svg"),
        ("https://example.org/x.md", "https://example.org/x.md"),
        ("#here", "#here"),
    ],
)
def test_links_lead_to_html(target: str, leads: str) -> None:
    assert f'href="{leads}"' in as_page(f"[a]({target})", "t")


def test_headings_are_called_as_on_github() -> None:
    assert anchor("The same, of a `model`!") == "the-same-of-a-model"
    assert '<h2 id="held-back">' in as_page("## Held back\n", "t")
