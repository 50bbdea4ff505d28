"""The documentation as HTML pages, with the links between them, for a machine that shows no Markdown."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

_SOURCES = ("*.md", "docs/**/*.md", "models/*.md", "conversations/*.md", "benchmarks/**/*.md")
_PICTURES = ("docs/**/*.svg", "docs/**/*.html")
_STYLE = (
    "body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}"
    "pre{overflow:auto;padding:.75rem;background:#8881}table{border-collapse:collapse}"
    "td,th{padding:.2rem .6rem;border:1px solid #8884;text-align:left}"
    "img{max-width:100%}:root{color-scheme:light dark}"
)


def documentation(checkout: Path, folder: Path) -> Iterator[Path]:
    """Write the pages of a checkout to a folder; yields their names there. README.md.html is the first."""
    for source in sorted({path for pattern in _SOURCES for path in checkout.glob(pattern)}):
        page = folder / f"{source.relative_to(checkout)}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(as_page(source.read_text(encoding="utf-8"), source.stem), encoding="utf-8")
        yield page.relative_to(folder)
    for source in sorted({path for pattern in _PICTURES for path in checkout.glob(pattern)}):
        target = folder / source.relative_to(checkout)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        yield target.relative_to(folder)


def as_page(text: str, title: str) -> str:
    """A page of Markdown as one of HTML. Links to other pages lead to their HTML; tags stay text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(anchors_plugin, max_level=4, slug_func=anchor)
    tokens = parser.parse(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    for token in tokens:
        for child in token.children or ():
            _link(child)
    body = parser.renderer.render(tokens, parser.options, {})
    heading = html.escape(title)
    return f'<!doctype html><meta charset="utf-8"><title>{heading}</title><style>{_STYLE}</style>\n{body}'


def _link(token: Token) -> None:
    target = str(token.attrGet("href") or "")
    if token.type == "link_open" and "://" not in target:
        token.attrSet("href", re.sub(r"\.md(?=#|$)", ".md.html", target))


def anchor(heading: str) -> str:
    """What links call a heading, as GitHub does it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
