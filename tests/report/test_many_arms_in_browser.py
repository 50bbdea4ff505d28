"""A page of many arms: no column is cut off on a desk or on paper, and rows keep their names on a phone."""

from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Page
from graded_talks import model, play

from rig.core.files import write
from rig.plugins.report.render import gather, render
from rig.store import Runs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

N = 12
PAPER = 700
"""A4 without its margins, in CSS pixels."""
BLOCKS = {7: ["ABCDEFG"], 9: ["ABCD", "EFGHI"], 20: ["ABCDEFG", "HIJKLM", "NOPQRST"]}
"""The letters of the arms whose columns stand in one table, by the number of arms."""
CUT_OFF = """
[...document.querySelectorAll('.scroll > table')].filter((table) =>
  table.getBoundingClientRect().right > document.documentElement.clientWidth
  || table.parentElement.scrollWidth > table.parentElement.clientWidth).map((table) => table.innerText)
"""
LETTERS = """
[...document.querySelectorAll('#numbers ~ .scroll[aria-label=quality] thead')].map((row) => row.innerText)
"""


@pytest.fixture(scope="module", params=[7, 9, 20])
def report(tmp_path_factory: pytest.TempPathFactory, request: Any) -> tuple[Path, int]:
    folder = tmp_path_factory.mktemp("report")
    arms = [model(N, set(range(place))) for place in range(request.param)]
    names = [f"a-model-with-a-long-name.Q{place}_K_M temperature=0.{place}5" for place in range(len(arms))]
    play(folder / "runs.sqlite", *arms, number=N, names=names)
    with Runs.open(folder / "runs.sqlite") as runs:
        write(render(gather(runs, ["latest"]), "html"), folder / "report.html")
    return folder / "report.html", request.param


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1400])
def test_no_column_is_cut_off_on_a_desk(browser: Page, report: tuple[Path, int], width: int) -> None:
    browser.open(report[0], width)
    assert browser.evaluate(CUT_OFF) == []
    assert "".join(browser.evaluate(LETTERS)).split() == [
        word for block in BLOCKS[report[1]] for word in ("quality", *block)
    ]


def test_no_column_is_cut_off_on_paper(browser: Page, report: tuple[Path, int], tmp_path: Path) -> None:
    browser.open(report[0], PAPER)
    browser.print_media()
    assert browser.evaluate(CUT_OFF) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= PAPER
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_rows_keep_their_names_while_numbers_scroll(browser: Page, report: tuple[Path, int]) -> None:
    browser.open(report[0], 390)
    table = "document.querySelector('.scroll[aria-label=quality]')"
    browser.evaluate(f"{table}.scrollLeft = 300")
    assert browser.evaluate(f"{table}.scrollLeft") > 0
    left = f"{table}.querySelector('tbody th').getBoundingClientRect().left"
    assert browser.evaluate(f"{left} - {table}.getBoundingClientRect().left") == 0
