"""The one table of signs: which form a terminal gets."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rig.cli import cli
from rig.show import signs
from rig.show.signs import Glyph
from rig.show.texts import clip


@pytest.mark.parametrize(
    ("environment", "encoding", "wanted"),
    [
        ({"LANG": "en_GB.UTF-8", "TERM": "xterm-256color"}, "utf-8", False),
        ({}, "utf-8", False),
        ({}, "UTF-16", False),
        ({}, "iso8859-1", True),
        ({}, None, True),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "de_DE.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "C.UTF-8"}, "utf-8", False),
        ({"TERM": "linux"}, "utf-8", True),
        ({"TERM": "dumb"}, "utf-8", True),
        ({"TERM": "vt220"}, "utf-8", True),
        ({"TERM": "xterm-kitty", "RIG_ASCII": "1"}, "utf-8", True),
    ],
)
def test_ascii_is_for_terminals_that_show_nothing_else(
    environment: dict[str, str], encoding: str | None, *, wanted: bool
) -> None:
    assert signs.wants_ascii(environment, encoding) is wanted


def test_a_glyph_is_text_in_the_form_that_is_shown() -> None:
    glyph = Glyph("…", "..")
    assert (str(glyph), f"{glyph:>3}", clip("abc", 1).rest) == ("..", " ..", " .. 2 more characters")
    signs.use(ascii_only=False)
    assert (str(glyph), f"{glyph:>3}", clip("abc", 1).rest) == ("…", "  …", " … 2 more characters")


def test_every_glyph_has_an_ascii_form() -> None:
    glyphs = [each for each in vars(signs).values() if isinstance(each, Glyph)]
    assert len(glyphs) > 10
    assert all(each.ascii.isascii() for each in glyphs)


@pytest.mark.parametrize("how", ["option", "variable", "neither"])
def test_the_command_line_decides(how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RIG_ASCII", "LC_ALL", "LC_CTYPE", "LANG", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "none.sqlite"))
    if how == "variable":
        monkeypatch.setenv("RIG_ASCII", "1")
    signs.use(ascii_only=False)
    CliRunner().invoke(cli, [*(["--ascii"] if how == "option" else []), "runs"])
    assert signs.is_ascii() == (how != "neither")
