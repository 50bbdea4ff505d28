"""Search and filter of the page: the map and the transcripts show what was asked for, and print without."""

from pathlib import Path

import pytest
from browser import CHROMIUM, Page
from graded_talks import model, play

from rig.core.files import write
from rig.plugins.report.page import page as whole_page
from rig.plugins.report.render import gather, render
from rig.store import Runs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

N = 6
FAILED = ["0", "3"]
"""The places of the first two conversations: those of a suite stand together."""
SHOWN = """
[[...document.querySelectorAll('tr[data-view]')].filter((row) => !row.hidden).map((row) => row.dataset.view),
 [...document.querySelectorAll('details')].filter((each) => !each.hidden).map((each) => each.id.slice(1))]
"""


@pytest.fixture(scope="module", params=["plain", "packed"])
def report(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The second arm fails the first two conversations."""
    folder = tmp_path_factory.mktemp("report")
    play(folder / "runs.sqlite", model(N), model(N, {0, 1}), number=N, names=["a", "b<i>"])
    with Runs.open(folder / "runs.sqlite") as runs:
        material = gather(runs, ["latest"])
    text = render(material, "html") if request.param == "plain" else whole_page(material, 1)
    write(text, folder / "report.html")
    return folder / "report.html"


def _choose(browser: Page, field: str, value: str) -> tuple[list[str], list[str]]:
    browser.evaluate(
        f"(() => {{ const e = document.getElementById('{field}'); e.value = {value!r};"
        " e.dispatchEvent(new Event('input')); })()"
    )
    shown: list[list[str]] = browser.evaluate(SHOWN)
    return sorted(set(shown[0])), shown[1]


def _until_unpacked(browser: Page) -> None:
    browser.evaluate(
        "new Promise((done) => { const look = () => document.querySelector('details')"
        " ? done(1) : setTimeout(look, 10); look(); })"
    )


@pytest.mark.slow
def test_only_what_differs(browser: Page, report: Path) -> None:
    browser.open(report)
    _until_unpacked(browser)
    assert not browser.evaluate("document.getElementById('filter').hidden")
    assert _choose(browser, "which", "differs") == (FAILED, FAILED)
    assert browser.evaluate("document.getElementById('found').textContent") == f"2 of {N} conversations"
    assert _choose(browser, "which", "some") == (FAILED, FAILED)
    assert _choose(browser, "which", "all")[1] == [str(n) for n in range(N) if str(n) not in FAILED]
    assert _choose(browser, "which", "none") == ([], [])
    assert len(_choose(browser, "which", "")[1]) == N
    assert browser.evaluate("document.getElementById('found').textContent") == ""


def test_names_and_transcripts_are_searched(browser: Page, report: Path) -> None:
    browser.open(report)
    _until_unpacked(browser)
    name = browser.evaluate("document.querySelector('tr[data-view=\"3\"] th').firstChild.textContent.trim()")
    assert _choose(browser, "find", name.upper()) == (["3"], ["3"])
    assert _choose(browser, "find", "zzzz")[0] == []
    assert len(_choose(browser, "find", "expected")[1]) == N


def test_a_filter_is_no_way_out_of_the_page(browser: Page, report: Path) -> None:
    browser.open(report)
    _until_unpacked(browser)
    browser.requests.clear()
    _choose(browser, "find", "<img src=http://x/>")
    assert browser.requests == []
    assert browser.complaints == []


def test_it_is_not_printed(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.print_media()
    assert browser.evaluate("getComputedStyle(document.getElementById('filter')).display") == "none"


def test_plots_stand_two_in_a_row_on_a_desk_and_one_on_a_phone(browser: Page, report: Path) -> None:
    lefts = "new Set([...document.querySelector('.plots').children].map((e) => e.offsetLeft)).size"
    browser.open(report, 1400)
    assert browser.evaluate(lefts) == 2
    browser.open(report, 390)
    assert browser.evaluate(lefts) == 1
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_columns_are_sorted_and_two_arms_stand_side_by_side(browser: Page, tmp_path: Path) -> None:
    arms = [
        model(N, wrong, fingerprint={"file_bytes": size})
        for wrong, size in ((set(), 90), ({0, 1}, 1_000), ({1}, 200))
    ]
    play(tmp_path / "runs.sqlite", *arms, number=N, names=["a", "b", "c"])
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        write(render(gather(runs, ["latest"]), "html"), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    names = "[...document.querySelectorAll('.ladder tbody th')].map((cell) => cell.textContent.trim()[0])"
    orders = []
    for _ in range(2):
        browser.evaluate("document.querySelectorAll('.ladder thead th')[1].click()")
        orders.append(browser.evaluate(names))
    assert orders == [["B", "C", "A"], ["A", "C", "B"]]
    _choose(browser, "side0", "B")
    _choose(browser, "side1", "C")
    assert browser.evaluate("document.getElementById('pair').textContent") == "C against B: 1 won, 0 lost"
    heads = (
        "[...document.querySelectorAll('.heat thead th')].filter((e) => !e.hidden).map((e) => e.textContent)"
    )
    assert browser.evaluate(heads)[:3] == ["conversation", "B", "C"]
    hidden = "[...document.querySelectorAll('.g>div')].filter((e) => e.hidden).length"
    assert browser.evaluate(hidden) > 0
    assert browser.complaints == []
