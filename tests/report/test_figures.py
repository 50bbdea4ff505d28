"""Figures: colours of the page, the numbers that they are drawn from, and names that are no formulas."""

import re
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from counted import METRICS
from graded_talks import model, play

from rig.compare.compare import compare
from rig.plugins.report import plots
from rig.plugins.report.plots import (
    INK,
    arm_colour,
    axes,
    label,
    nearly,
    pairs_measured,
    refused_plot,
    svg,
    threshold_plot,
)
from rig.store import Runs


def drawn(name: str = "x") -> str:
    with axes(4, 2) as (figure, plot):
        plot.plot([0, 1], [0, 1], color=arm_colour(9))
        plot.text(0, 0, name, color=INK)
        return svg(figure, f'a "title" of <{name}>')


def test_names_that_the_font_lacks_are_drawn_without_a_warning() -> None:
    assert "日本語" in drawn("日本語")


def test_every_colour_is_one_of_the_page() -> None:
    text = drawn()
    assert re.findall(r"#[0-9a-f]{6}\b(?!\")", re.sub(r"url\(#\w+\)|href=\"#\w+\"", "", text)) == []
    assert set(re.findall(r"var\((--\w+)\)", text)) <= {f"--{name}" for name in plots.NAMES.values()}
    assert "var(--arm1)" in text


def test_a_name_is_drawn_as_text_whatever_is_in_it() -> None:
    text = drawn("$\\frac{1}$ <b> & $x_")
    assert "$\\frac{1}$ &lt;b&gt; &amp; $x_" in text
    assert 'aria-label="a &quot;title&quot; of &lt;$' in text


@pytest.mark.parametrize(
    "name", ["smollm2 temperature=0.25", "0.75000", "#000200", " font-family: x;", "<!-- 1.25 -->", ' id="a"']
)
def test_nothing_that_is_written_is_changed(name: str) -> None:
    assert f">{escape(name, quote=False)}</text>" in drawn(name)


def test_arms_are_labelled_with_their_settings(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(4), model(4), number=4, names=("m temperature=0.25", "m temperature=0.75"))
    with Runs.open(path) as runs:
        comparison = compare(runs, ["latest"])
    drawing = plots.rates(comparison, METRICS["success_rate"], "AB")
    assert "m temperature=0.25  A</text>" in drawing
    assert "m temperature=0.75  B</text>" in drawing


def test_figures_are_the_same_every_time_and_small() -> None:
    assert drawn() == drawn()
    assert len(drawn()) < 8_000
    assert "<?xml" not in drawn()
    assert "<metadata" not in drawn()


def test_ids_are_only_those_that_are_needed() -> None:
    text = drawn()
    ids = re.findall(r' id="(\w+)"', text)
    assert len(ids) == len(set(ids))
    assert all(f"#{each}" in text for each in ids)


@pytest.mark.parametrize("text", ["short", "x" * 28, "a" * 40 + "b" * 40, "tab\tnew\nline\x1b"])
def test_labels_are_short_and_inert(text: str) -> None:
    found = label(text)
    assert len(found) <= 28
    assert found.isprintable()
    assert found.startswith(text[:3])


def test_the_calibration_is_the_one_of_the_unseen_pairs() -> None:
    """The pairs that the model was not taught, as benchmarks/free_text/calibrate.py counts them."""
    assert pairs_measured() == 10541
    assert "refused though alike, % of 3562" in threshold_plot()
    assert "accepted though not, % of 6979" in threshold_plot()


def test_texts_close_to_the_threshold_are_counted() -> None:
    refused = [0.02, 0.1, 0.11, 0.4]
    assert nearly(refused) == 2
    assert refused_plot(refused) is not None
    assert refused_plot([]) is None


def test_a_loss_that_was_found_has_no_band_of_what_could_not_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(12), model(12, {1}), model(12, set(range(10))), number=12)
    with Runs.open(path) as runs:
        comparison = compare(runs, ["latest"])
    assert [str(pair.verdict.kind) for pair in comparison.pairs] == ["no loss found", "loss found"]
    drawing = plots.differences(comparison, "ABC")
    whole = replace(comparison, pairs=comparison.pairs[:1], arms=comparison.arms[:2])
    assert drawing.count("var(--band)") == plots.differences(whole, "AB").count("var(--band)") == 1


def test_points_stand_where_their_numbers_are(tmp_path: Path) -> None:
    """Read back from the drawing, by the places of the axis' numbers."""
    path = tmp_path / "runs.sqlite"
    play(path, model(10), model(10, {1, 2, 3}), model(10, set(range(10))), number=10)
    with Runs.open(path) as runs:
        comparison = compare(runs, ["latest"])
    drawing = plots.rates(comparison, METRICS["success_rate"], "ABC")
    numbers = {
        int(text): float(x) for x, text in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>(\d+)</text>', drawing)
    }
    scale = (numbers[100] - numbers[0]) / 100
    dots = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: var\(--arm(\d)\)', drawing)
    found = {int(arm): ((float(x) - numbers[0]) / scale, float(y)) for x, y, arm in dots}
    assert [found[arm][0] for arm in range(3)] == pytest.approx([100, 70, 0], abs=0.2)
    assert found[0][1] < found[1][1] < found[2][1], "from the top in the order of the arms"
