"""Which file to ship by quality, speed and memory: of quiet moments, with spread, and what is dominated."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.events import Speed
from rig.plugins.resources.decision import Demands
from rig.plugins.resources.measured import TimedTurn, TurnSpread, resources_of
from rig.plugins.tooltalk.conversations import parse_conversation

Rig = Callable[..., Any]
FINGERPRINT = {"model.n_threads": 2, "model.n_gpu_layers": 0, "model.n_seq": 1, "model.file_bytes": 1000}


def turn(rate: float, share: float = 1.0, tokens: int = 20, first: float = 0.5) -> TimedTurn:
    """A turn that generated tokens at this rate, with this share of the CPU time of two threads."""
    decode_s = tokens / rate
    own = Speed(prompt_tokens=50, completion_tokens=tokens, prefill_s=0.4, decode_s=decode_s)
    whole = replace(own, wall_s=decode_s + 0.4, cpu_s=share * 2 * (decode_s + 0.4))
    return TimedTurn(whole, own, first)


def test_only_quiet_turns_count() -> None:
    turns = [*(turn(20 + n) for n in range(10)), *(turn(5, share=0.5) for _ in range(10))]
    speed = Speed(prefill_s=8.0, decode_s=20.0, cpu_s=50.0, peak_memory=700, peak_device_memory=300)
    found = resources_of(turns, speed, FINGERPRINT)
    assert (found.turns, found.quiet, found.is_known, found.whole_memory) == (20, 10, True, 1000)
    assert found.decode is not None
    assert found.at_worst.decode is not None
    assert found.decode.median == pytest.approx(24.5)
    assert (found.decode.lower, found.decode.upper) == (pytest.approx(22.25), pytest.approx(26.75))
    assert found.at_worst.decode.median < 21
    assert found.first_token is not None
    assert found.first_token.median == 0.5


def test_all_turns_of_a_gpu_count_and_of_several_at_once_those_of_a_quiet_arm() -> None:
    turns = [turn(20, share=0.5)] * 6
    busy = Speed(prefill_s=2.0, decode_s=6.0, cpu_s=8.0)
    on_gpu = resources_of(turns, busy, {**FINGERPRINT, "model.n_gpu_layers": 20})
    assert (on_gpu.quiet, on_gpu.is_known) == (6, False)
    for cpu_s, quiet in ((8.0, 0), (15.0, 6)):
        at_once = resources_of(turns, replace(busy, cpu_s=cpu_s), {**FINGERPRINT, "model.n_seq": 4})
        assert (at_once.quiet, at_once.is_known) == (quiet, True)
        assert at_once.is_busy == (not quiet)


def test_it_says_why_a_speed_is_not_known() -> None:
    speed = Speed(prefill_s=8.0, decode_s=20.0, cpu_s=50.0)
    for turns, why in (
        ([turn(20, share=0.5)] * 9, "none of its 9 turns was quiet"),
        ([turn(20)] * 3 + [turn(20, tokens=2)] * 6, "only 3 of its 9 turns tell it, 6 are needed"),
        ([turn(20, tokens=2)] * 9, "only 0 of its 9 turns tell it, 6 are needed"),
        ([turn(20)] * 6, ""),
    ):
        found = resources_of(turns, speed, FINGERPRINT)
        assert found.too_few(found.decode) == why


def test_a_median_has_an_interval_from_six_values_on() -> None:
    few, enough = TurnSpread.of([1.0] * 5), TurnSpread.of(map(float, range(101)))
    assert few is not None
    assert few.low is None
    assert enough is not None
    assert (enough.median, enough.lower, enough.upper) == (50, 25, 75)
    assert (enough.low, enough.high) == (40, 61)
    assert TurnSpread.of([]) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GiB", 8 * 2**30),
        ("8GB", 8 * 10**9),
        ("900 MB", 9 * 10**8),
        ("1.5g", 1.5e9),
        ("512", 512),
        ("1TiB", 2**40),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: float) -> None:
    assert Demands.of(None, text, 0.05).memory == size


@pytest.mark.parametrize("text", ["20tok/s", "20", "20 t/s", "20.0 tokens/s"])
def test_speeds_are_read_as_people_write_them(text: str) -> None:
    assert Demands.of(text, None, 0.05).rate == 20


@pytest.mark.parametrize(("rate", "size"), [("fast", None), ("0", None), (None, "much"), (None, "0GiB")])
def test_what_is_no_demand_is_said(rate: str | None, size: str | None) -> None:
    with pytest.raises(RigError, match="write it as in"):
        Demands.of(rate, size, 0.05)


@pytest.fixture
def ladder(tmp_path: Path) -> Path:
    """A store with a large, right file and a small one that is as right, faster in its quiet turns."""
    path = tmp_path / "runs.sqlite"
    said = "Wake me.", ("Done.", [Call("AddAlarm", {"time": "07:00:00"})]), "Thanks."
    sources = [small_talks.source(f"talk{number:02}", *said) for number in range(20)]
    tasks = tuple(parse_conversation(each, each["name"]) for each in sources)
    models = [stored_runs.Careful(tasks) for _ in range(2)]
    small_talks.play(small_talks.plan(path, *models, conversations=tasks))
    with closing(sqlite3.connect(path)) as database, database:
        for name, size, rate, memory in (("arm0", 2000, 10.0, 3 * 2**30), ("arm1", 1000, 25.0, 2**30)):
            [told] = database.execute("SELECT fingerprint FROM arms WHERE name = ?", (name,)).fetchone()
            fingerprint = {**json.loads(told), **FINGERPRINT, "model.file_bytes": size}
            values = json.dumps(fingerprint), memory, name
            database.execute("UPDATE arms SET fingerprint = ?, peak_memory = ? WHERE name = ?", values)
            database.execute(
                "UPDATE predictions SET completion_tokens = 40, decode_s = 40 / ? + step * 0.01,"
                " prefill_s = 0.1, mask_s = 0 WHERE turn IN (SELECT turns.id FROM turns"
                " JOIN arms ON arms.id = turns.arm WHERE arms.name = ?)",
                (rate, name),
            )
        database.execute(
            "UPDATE turns SET tools_s = 0, scoring_s = 0, cpu_s = (SELECT 2 * sum(prefill_s + decode_s)"
            " FROM predictions WHERE predictions.turn = turns.id)"
        )
    return path


def test_the_smallest_file_that_meets_everything_is_named(rig: Rig, ladder: Path) -> None:
    asked = ("compare", "abcde", "--runs", ladder, "--across-settings", "--loss", "60")
    shipped = rig(*asked, "--at-least", "20tok/s", "--memory", "2GiB")
    assert shipped.code == 0, shipped.err
    said = " ".join(shipped.out.split())
    assert "Ship arm1: smallest file without a loss above 60 points that reaches 20 tokens a second" in said
    assert "in 2GiB of memory here" in said
    told = rig(*asked, "--at-least", "20tok/s", "--memory", "2GiB", "--json").json
    assert told["demands"] == {"rate": 20.0, "memory": 2 * 2**30, "loss": 0.6, "memory_text": "2GiB"}
    slow, fast = told["decision"]["arms"]
    assert (slow["met"], slow["speed"], slow["memory"], slow["dominated_by"]) == ("no", "no", "no", ["arm1"])
    assert (fast["met"], fast["dominated_by"]) == ("yes", [])
    assert told["decision"]["arm"] == "arm1"
    assert 23 < fast["resources"]["decode"]["median"] <= 25


def test_what_no_file_reaches_is_said_with_the_reasons(rig: Rig, ladder: Path) -> None:
    asked = ("compare", "abcde", "--runs", ladder, "--across-settings", "--loss", "60")
    out = " ".join(rig(*asked, "--at-least", "100").out.split())
    assert "No file without a loss above 60 points that reaches 100 tokens a second is here: arm1:" in out
    assert "tokens a second; arm0: generates" in out


def test_a_loss_that_could_be_there_is_open(rig: Rig, ladder: Path) -> None:
    out = " ".join(
        rig("compare", "abcde", "--runs", ladder, "--across-settings", "--memory", "2GiB").out.split()
    )
    assert "Cannot tell whether a file without a loss above 5 points in 2GiB of memory is here: arm1:" in out


def test_it_decides_by_the_loss_alone(rig: Rig, ladder: Path) -> None:
    done = rig("compare", "abcde", "--runs", ladder, "--memory", "2GiB", "--fail-if-worse", "1")
    assert done.code == 2
    assert "leave out --fail-if" in done.err
    both = rig("compare", "abcde", "--runs", ladder, "--memory", "2GiB", "--paths")
    assert both.code == 2
    assert "--memory and --paths show different things" in both.err or "--paths and --memory" in both.err
