"""The page in a real browser: nothing asked for, nothing complained of, readable on a phone and a desk."""

from pathlib import Path

import pytest
from browser import CHROMIUM, Page
from graded_talks import model, play

from rig.core.files import write
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.report.page import page as html
from rig.plugins.report.render import gather, render
from rig.store import Runs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

N = 14
WIDTHS = (390, 1280)
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\x1b[31m\u202eevil\u0000"


def _hostile(request: Request) -> Prediction:
    """Writes markup, styles and addresses wherever it can write."""
    if request.key.step == 0 and request.key.turn == 1:
        text = "</code></details><style>body{display:none}</style><a href='javascript:window.hacked=3'>x</a>"
        return called("AddAlarm", {"time": text, '"onclick="window.hacked=4': HOSTILE})
    return replied(HOSTILE + "<iframe src='http://192.0.2.1/'></iframe>" + "W" * 3000)


@pytest.fixture(scope="module", params=["plain", "packed"])
def report(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Of three arms: a good one, one that loses eight conversations, and one that attacks its reader."""
    folder = tmp_path_factory.mktemp("report")
    arms = (model(N), model(N, set(range(8))), Scripted(_hostile, fingerprint={"file_sha256": "0"}))
    names = ("good", "worse", "<b onmouseover='window.hacked=5'>hostile</b> $x_$")
    play(folder / "runs.sqlite", *arms, number=N, names=names, name="<i>run</i>")
    with Runs.open(folder / "runs.sqlite") as runs:
        material = gather(runs, ["latest"])
    text = render(material, "html")
    if request.param == "packed":
        text = html(material, len(text.encode()) - 1)
    assert ("id=packed" in text) == (request.param == "packed")
    write(text, folder / "report.html")
    return folder / "report.html"


def show(page: Page, report: Path, width: int = 1280, *, dark: bool = False) -> None:
    """Open the page and wait until its transcripts are unpacked."""
    page.open(report, width, dark=dark)
    page.evaluate(
        "new Promise((done) => { const look = () => document.getElementById('packed')"
        " ? setTimeout(look, 10) : done(true); look(); })"
    )


@pytest.fixture
def page(browser: Page, report: Path) -> Page:
    browser.requests.clear()
    browser.complaints.clear()
    show(browser, report)
    return browser


@pytest.mark.slow
def test_it_asks_for_nothing_but_itself_and_the_console_stays_empty(page: Page, report: Path) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate("document.querySelectorAll('*').forEach((each) => each.dispatchEvent(new Event('click')))")
    assert set(page.requests) == {report.as_uri()}
    assert page.complaints == []


def test_the_browser_would_have_noticed(page: Page, tmp_path: Path) -> None:
    """Without this, the test above could pass because nobody listens."""
    other = tmp_path / "other.html"
    other.write_text(
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src 'unsafe-inline'\">"
        "<script>console.error('loud')</script><img src=beside.png><script>nothing.there()</script>"
    )
    page.open(other)
    page.evaluate("1")
    assert any("loud" in each for each in page.complaints)
    assert any("Content Security Policy" in each for each in page.complaints)
    assert any("Uncaught" in each for each in page.complaints)
    other.write_text("<img src=beside.png>")
    page.open(other)
    assert (tmp_path / "beside.png").as_uri() in page.requests


def test_what_a_model_wrote_stays_text(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('script, img, iframe, b[onmouseover]').length") == 1
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    shown = page.evaluate("document.body.innerText")
    assert "<script>window.hacked = 1</script>" in shown
    assert "\\x1b[31m\\u202eevil\\x00" in shown
    assert not {"\x1b", "\u202e", "\x00"} & set(shown)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_width_makes_the_page_scroll_sideways(page: Page, report: Path, width: int, dark: bool) -> None:
    show(page, report, width, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.clientWidth") == width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("h1", "section.v p", "table", "svg", "details"):
        box = page.evaluate(
            f"(() => {{ const b = document.querySelector('{part}').getBoundingClientRect();"
            " return [b.left, b.width, b.height]; })()"
        )
        assert box[0] >= 0, part
        assert box[1] > 100, part
        assert box[2] > 10, part


def test_text_can_be_told_from_its_ground_in_light_and_dark(page: Page, report: Path) -> None:
    grounds = []
    for dark in (False, True):
        show(page, report, dark=dark)
        for part in ("body", ".m", ".good", ".bad", "a", "svg text"):
            ratio = page.evaluate(CONTRAST % part)
            assert ratio >= 4.5, (part, dark, ratio)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


CONTRAST = """
(() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((each) => {
      const c = each / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const element = document.querySelector('%s');
  const style = getComputedStyle(element);
  const ink = light(element.tagName === 'text' ? style.fill : style.color);
  const ground = light(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
})()
"""
"""The contrast of an element's text with the page's ground, as WCAG 2.1 has it."""


def test_a_flip_leads_to_its_transcripts(page: Page) -> None:
    flip = "#f-B + ul a[href^='#t']"
    target = page.evaluate(f"document.querySelector(\"{flip}\").getAttribute('href').slice(1)")
    name = page.evaluate(f'document.querySelector("{flip}").innerText')
    assert not page.evaluate(f"document.getElementById('{target}').checkVisibility()")
    page.click(flip)
    assert page.evaluate(f"document.getElementById('{target}').checkVisibility()")
    opened = page.evaluate(f"document.getElementById('{target}').closest('details').innerText")
    assert name in opened
    assert "No." in opened
    assert "missing call" in opened
    top = page.evaluate(f"document.getElementById('{target}').getBoundingClientRect().top")
    assert -1 <= top < page.evaluate("innerHeight")


def test_a_transcript_that_was_shut_opens_again(page: Page) -> None:
    flip = "#f-B + ul a[href^='#t']"
    page.click(flip)
    page.evaluate("document.querySelector('details[open]').open = false")
    page.click(flip)
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 1


def test_every_link_leads_somewhere_on_the_page(page: Page) -> None:
    shown = "[...document.querySelectorAll('a')].map((each) => each.getAttribute('href') ?? each.outerHTML)"
    links = page.evaluate(shown)
    assert len(links) > 3 * N
    assert [link for link in links if not link.startswith("#")] == []
    missing = page.evaluate(
        "[...document.querySelectorAll('a')].filter((each) => !document.getElementById(each.hash.slice(1)))"
        ".length"
    )
    assert missing == 0
    doubled = page.evaluate(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);"
        " return ids.length - new Set(ids).size; })()"
    )
    assert doubled == 0


def test_the_map_leads_to_the_transcripts_too(page: Page) -> None:
    page.click(".heat td a")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 1


def test_printed_it_is_what_was_left_open(page: Page) -> None:
    page.click("details summary")
    page.print_media()
    visible = "[...document.querySelectorAll('details')].filter((each) => each.checkVisibility()).length"
    assert page.evaluate(visible) == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelector('#verdicts').checkVisibility()")
