"""The page over all runs in a real browser: it finds what changed, stays readable, and asks for nothing."""

from pathlib import Path
from typing import Any

import many_runs
import pytest
from browser import CHROMIUM, Page
from graded_talks import model, play

from rig.core.files import write
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.overview.gathered import gather
from rig.plugins.overview.page import page as whole_page
from rig.scoring import Answer, add_answers, answers_file
from rig.store import Runs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

N = 10
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\x1b[31m\u202eevil"
READY = """
new Promise((done) => {
  const look = () => field('filter').hidden ? setTimeout(look, 10) : done(1);
  look();
})
"""
ROWS = "[...document.querySelectorAll('tr[data-a]')].filter((row) => !row.hidden).map((row) => row.innerText)"
FLIPS = """
[...document.querySelectorAll('#flips tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))
"""


def _hostile(request: Request) -> Prediction:
    return called(HOSTILE, {HOSTILE: HOSTILE}) if request.key.step == 0 else replied(HOSTILE)


@pytest.fixture(scope="module", params=["plain", "packed"])
def overview(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A ladder, a later run of one file that gets another two conversations wrong, and an attack."""
    folder = tmp_path_factory.mktemp("overview")
    store = folder / "runs.sqlite"
    files: list[Any] = [{"file": name, "file_sha256": name} for name in ("good.gguf", "small.gguf")]
    arms = [model(N, fingerprint=files[0]), model(N, {0, 1, 2}, fingerprint=files[1])]
    play(store, *arms, number=N, names=("good", "small"), run="aaaaa", name="ladder")
    play(store, model(N, {2, 3}, fingerprint=files[1]), number=N, names=("small",), run="bbbbb", name="later")
    names = (f"{HOSTILE} it's", "b")
    attack = Scripted(_hostile, fingerprint={"file": HOSTILE, "quantization": HOSTILE})
    play(store, attack, attack, number=2, names=names, run="ccccc", name=HOSTILE[:40])
    add_answers(answers_file(store), [Answer(HOSTILE, "plain", same=False)])
    with Runs.open(store) as runs:
        gathered = gather(runs)
    text = whole_page(gathered, store, "0.1.0")
    if request.param == "packed":
        text = whole_page(gathered, store, "0.1.0", len(text.encode()) - 1)
    assert ("id=packed" in text) == (request.param == "packed")
    write(text, folder / "all.html")
    return folder / "all.html"


@pytest.fixture
def page(browser: Page, overview: Path) -> Page:
    return show(browser, overview)


def show(page: Page, overview: Path, width: int = 1280, *, dark: bool = False) -> Page:
    page.requests.clear()
    page.complaints.clear()
    page.open(overview, width, dark=dark)
    page.evaluate(READY)
    return page


def choose(page: Page, field: str, value: str) -> None:
    page.evaluate(
        f"(() => {{ const e = document.getElementById('{field}'); e.value = {value!r};"
        " e.dispatchEvent(new Event('input')); })()"
    )


def visit(page: Page, hash_: str) -> None:
    page.evaluate(
        "new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 20), { once: true });"
        f" location.hash = {hash_!r}; }})"
    )


def test_any_two_arms_are_compared_and_only_what_changed_is_shown(page: Page) -> None:
    choose(page, "base", "aaaaa/1")
    choose(page, "with", "bbbbb/0")
    flips = page.evaluate(FLIPS)
    assert [(row[0].split()[0], row[1]) for row in flips] == [
        ("talk03", "lost"),
        ("talk00", "won"),
        ("talk01", "won"),
    ]
    assert "Wake me at 3." in flips[0][0]
    assert flips[0][2] == "success"
    assert flips[0][3].startswith("failed; 1 of 2 calls matched")
    lines = flips[0][4].split("\n")
    assert [line.partition(" --runs ")[0] for line in lines] == [
        "rig show bbbbb talk03 --arm small",
        "rig show aaaaa talk03 --arm small",
    ]
    told = page.evaluate("field('told').innerText")
    assert "10 conversations in common, 2 won, 1 lost" in told
    assert "rig compare aaaaa/small bbbbb/small" in told
    page.evaluate("field('only').click()")
    assert len(page.evaluate(FLIPS)) == N
    assert page.evaluate("location.hash") == "#base=aaaaa/1&with=bbbbb/0&only=0"


def test_an_address_with_both_arms_shows_them_again(page: Page) -> None:
    visit(page, "#base=aaaaa/0&with=bbbbb/0")
    assert page.evaluate("[field('base').value, field('with').value]") == ["aaaaa/0", "bbbbb/0"]
    assert [row[1] for row in page.evaluate(FLIPS)] == ["lost", "lost"]


def test_an_arm_shows_how_all_of_its_conversations_ended(page: Page) -> None:
    page.click("a[href='#with=aaaaa/1']")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert page.evaluate("[field('base').value, field('with').value]") == ["aaaaa/0", "aaaaa/1"]
    assert len(page.evaluate(FLIPS)) == N


def test_a_conversation_leads_to_all_arms_that_played_it(page: Page) -> None:
    visit(page, "#suite=0")
    page.click("#talk a[href^='#talk=']")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert page.evaluate("document.querySelector('#talk h3').innerText").startswith("talk0")
    rows = page.evaluate("[...document.querySelectorAll('#talk tbody tr')].map((row) => row.innerText)")
    assert len([row for row in rows if "ladder" in row or "later" in row]) == 3
    assert all("rig show " in row for row in rows)


def test_filters_leave_what_was_asked_for(page: Page) -> None:
    assert len(page.evaluate(ROWS)) == 5
    choose(page, "find", "LATER small")
    assert [row.split()[0] for row in page.evaluate(ROWS)] == ["small"]
    assert page.evaluate("field('found').textContent") == "1 of 5 arms"
    choose(page, "find", "")
    small = page.evaluate("[...field('file').options].find((each) => each.text === 'small.gguf').value")
    choose(page, "file", small)
    assert len(page.evaluate(ROWS)) == 2
    assert page.evaluate("[...field('base').options].every((each) => /small|good/.test(each.text))")
    choose(page, "find", "<img src=http://x/>")
    assert page.evaluate(ROWS) == []
    assert page.complaints == []


def test_what_the_store_holds_stays_text(page: Page, overview: Path) -> None:
    for hash_ in (
        "#with=ccccc/0",
        "#base=ccccc/1&with=ccccc/0&only=0",
        "#suite=0",
        "#talk=nothing",
        "#file=9",
        "#base=</p>",
    ):
        visit(page, hash_)
    page.click("a[href='#with=ccccc/0']")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('img, iframe, script:not([id])').length") == 1
    shown = page.evaluate("document.body.innerText")
    assert "<script>window.hacked = 1</script>" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
    told = page.evaluate("field('told').innerText")
    assert "it'\"'\"'s'" in told, "an apostrophe cannot end a word of the command"
    assert set(page.requests) == {overview.as_uri()}
    assert page.complaints == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_width_makes_the_page_scroll_sideways(
    browser: Page, overview: Path, width: int, dark: bool
) -> None:
    show(browser, overview, width, dark=dark)
    visit(browser, "#base=aaaaa/0&with=aaaaa/1")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("h1", "table.all", "#flips", "#find", "#base", "#decided + p"):
        box = browser.evaluate(
            f"(() => {{ const b = document.querySelector('{part}').getBoundingClientRect();"
            " return [b.left, b.width, b.height]; })()"
        )
        assert box[0] >= 0, part
        assert box[1] > 100, part
        assert box[2] > 10, part
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")


def test_printed_it_is_whole_and_white(browser: Page, overview: Path, tmp_path: Path) -> None:
    show(browser, overview, 700)
    browser.print_media()
    assert browser.evaluate("getComputedStyle(field('filter')).display") == "none"
    assert browser.evaluate("document.documentElement.scrollWidth") <= 700
    box = "document.querySelector('.box')"
    assert browser.evaluate(f"{box}.scrollHeight <= {box}.clientHeight")
    browser.pdf(tmp_path / "all.pdf")
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")


def test_many_runs_open_within_seconds(browser: Page, tmp_path: Path) -> None:
    many_runs.write(tmp_path / "runs.sqlite", 150)
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        write(whole_page(gather(runs), tmp_path / "runs.sqlite", "0.1.0"), tmp_path / "all.html")
    show(browser, tmp_path / "all.html")
    assert browser.evaluate("field('base').options.length") == 450
    assert browser.evaluate("performance.now()") < 30_000
