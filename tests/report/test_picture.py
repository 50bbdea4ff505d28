"""The picture of a ladder: what is on it is what is stored, whatever the names are and however many arms."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser import CHROMIUM
from graded_talks import forget, model, play

from rig.compare.arms import ComparisonOptions
from rig.core.errors import PASSING, ErrorKind
from rig.methods.scripted import Scripted, failed
from rig.plugins.report import picture
from rig.plugins.report.picture import HEIGHT, MOST, WIDTH, Picture, as_svg, picture_of
from rig.stats import Estimate
from rig.store import Runs

Rig = Callable[..., Any]
N = 40
NS = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&amp;\x1b[2J\u202e\x00" + "W" * 500


def ladder(path: Path, arms: int, names: tuple[str, ...] = (), *, silent: bool = False) -> Picture:
    """Each arm is smaller and worse than the one before; the last one may never have answered."""
    passing = ErrorKind(sorted(PASSING)[0])
    models = []
    for place in range(arms):
        print_ = {"file": f"m{place}.gguf", "file_sha256": str(place), "file_bytes": (40 - place) << 20}
        if silent and place == arms - 1:
            models.append(Scripted(lambda _: failed(passing, "away"), fingerprint=print_))
        else:
            models.append(model(N, set(range(3 * place)), fingerprint=print_))
    kinds = names or tuple(f"a-model-with-a-long-name-Q{place}_K" for place in range(arms))
    play(path, *models, number=N, names=kinds)
    return drawn(path)


def drawn(path: Path, address: str = "latest") -> Picture:
    with Runs.open(path) as runs:
        return picture_of(runs, address, ComparisonOptions(one_will_do=True, across_settings=True))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NS}text")]


def test_it_has_every_arm_with_size_rate_difference_and_verdict(tmp_path: Path) -> None:
    shown = texts(as_svg(ladder(tmp_path / "runs.sqlite", 3)))
    for text in ("Q0_K", "Q1_K", "Q2_K", "40.0 MiB", "38.0 MiB", "100.0%", "92.5%", "-15.0", "reference"):
        assert text in shown
    assert [text for text in shown if "loss" in text][-2:] == ["no loss found", "loss suspected"]
    assert any(text.startswith("a-model-with-a-long-name; suite easy and hard; 40 conv") for text in shown)
    assert any(re.match(r"rig \S+, run abcde, \d{4}-\d\d-\d\d, method tooltalk; ", text) for text in shown)


def test_the_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    ladder(tmp_path / "runs.sqlite", 2)
    assert as_svg(drawn(tmp_path / "runs.sqlite")) == as_svg(drawn(tmp_path / "runs.sqlite"))


@pytest.mark.parametrize("arms", [1, 12, MOST + 2])
@pytest.mark.slow
def test_all_of_it_is_inside(tmp_path: Path, arms: int) -> None:
    """By the widths of the font that texts are measured in; browsers' own fonts are no wider."""
    svg = as_svg(ladder(tmp_path / "runs.sqlite", arms))
    for element in ElementTree.fromstring(svg).iter(f"{NS}text"):
        style = element.get("style", "")
        size = float(re.findall(r"([\d.]+)px", style)[0])
        wide = picture._width(element.text or "", size, bold="bold" in style or "700" in style)
        at = re.findall(r"(?<=[( ])[\d.]+", element.get("transform", "")) or [
            element.get("x"),
            element.get("y"),
        ]
        left = float(at[0]) - {"end": wide, "middle": wide / 2}.get(
            next(iter(re.findall(r"text-anchor: (\w+)", style)), ""), 0
        )
        assert left >= 40, element.text
        assert left + wide <= WIDTH - 40, element.text
        assert float(at[1]) <= HEIGHT - 10, element.text
    shown = texts(svg)
    assert sum(text.endswith("MiB") for text in shown) == min(arms, MOST)
    assert any("2 more arms not shown" in text for text in shown) == (arms > MOST)


def test_names_are_text_and_short(tmp_path: Path) -> None:
    svg = as_svg(ladder(tmp_path / "runs.sqlite", 2, (HOSTILE, "日本語" * 100)))
    assert not {"\x1b", "\u202e", "\x00"} & set(svg)
    tags = {element.tag.removeprefix(NS) for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "g", "path", "text", "defs", "style"}
    assert max(map(len, texts(svg))) < 200
    assert re.findall(r"(?:href|src|url\(|@import|on\w+=\")", svg) == []


def test_an_arm_that_never_answered_has_no_rate_and_the_reason(tmp_path: Path) -> None:
    drawing = ladder(tmp_path / "runs.sqlite", 3, silent=True)
    last = drawing.rows[-1]
    assert (last.rate, last.text, last.difference, last.verdict) == (None, "", "", "not evaluated")
    shown = texts(as_svg(drawing))
    assert any(text.startswith("the assistant could never answer: ") for text in shown)
    assert "0.0%" not in shown


def test_an_arm_that_is_not_finished_says_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    ladder(path, 2)
    forget(path, 1, range(10, N))
    shown = texts(as_svg(drawn(path)))
    assert any(text.startswith(f"only 10 of {N} conversations played") for text in shown)


def test_leaked_calls_have_the_rate_of_a_strict_server_beside_the_lenient_one(tmp_path: Path) -> None:
    drawing = ladder(tmp_path / "runs.sqlite", 1)
    whole = as_svg(drawing)
    strict = drawing.rows[0]._replace(strict=Estimate(0.5, 0.4, 0.6))
    assert as_svg(drawing._replace(rows=(strict,))).count("fill: #fff; stroke") == 1
    assert "fill: #fff; stroke" not in whole
    path = tmp_path / "runs.sqlite"
    with Runs.open(path) as runs:
        from rig.compare.arms import choose
        from rig.compare.compare import compare_chosen

        chosen = choose(runs, ["latest"])
        comparison = compare_chosen(runs, chosen, ComparisonOptions(one_will_do=True))
    arm = comparison.arms[0]
    counts = {**arm.counts, "calls.own": 10, "calls.formed": 30, "leaked: fenced JSON": 20}
    rates = {**arm.rates, "strict_success_rate": Estimate(0.25, 0.1, 0.4)}
    leaked = replace(comparison, arms=(replace(arm, counts=counts, rates=rates),))
    row = picture._row(chosen[0], "m", leaked)
    assert row.strict == Estimate(0.25, 0.1, 0.4)
    assert row.notes == (
        "25.0% where a server takes leaked calls for words",
        "20 of 30 calls leaked",
    )


@pytest.mark.slow
def test_the_verb_writes_a_file_of_its_own_name_once(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ladder(tmp_path / "runs.sqlite", 3)
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    assert rig("card", "latest", "--svg").out == "wrote rig-card-latest.svg (svg)\n"
    text = (tmp_path / "rig-card-latest.svg").read_text()
    assert text == as_svg(drawn(tmp_path / "runs.sqlite"))
    done = rig("card", "latest", "--svg", "--baseline", "a-model-with-a-long-name-Q1")
    assert (done.code, done.out) == (2, "")
    assert "rig-card-latest.svg: exists; choose a new file, or --force" in done.err
    assert (tmp_path / "rig-card-latest.svg").read_text() == text
    assert rig("card", "latest/…Q2_K", "-o", "one.svg").code == 0
    assert "40.0 MiB" in texts((tmp_path / "one.svg").read_text())
    assert "39.0 MiB" not in texts((tmp_path / "one.svg").read_text())
    done = rig("card", "latest", "--svg", "--format", "md")
    assert (done.code, done.out) == (2, "")
    assert "--svg draws a picture and --format md writes a card" in done.err


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_draws_it(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(as_svg(ladder(tmp_path / "runs.sqlite", 12, silent=True)))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
    shot = ["--window-size=1200,675", f"--screenshot={tmp_path / 'a.png'}", (tmp_path / "a.svg").as_uri()]
    subprocess.run([*command, f"--user-data-dir={tmp_path / 'profile'}", *shot], check=True, timeout=120)
    # A white picture of this size has some 3 kB.
    assert (tmp_path / "a.png").stat().st_size > 30_000
