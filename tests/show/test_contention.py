"""What is said of an arm that did not have its threads to itself."""

import pytest

from rig.core.events import Speed
from rig.show.summary import contention_notes, cpu_share_text

TWO = {"model.n_threads": 2, "model.n_gpu_layers": 0}
WORK = {"prefill_s": 4.0, "decode_s": 7.0, "mask_s": 1.0, "tools_s": 0.5, "scoring_s": 0.5}
"""Ten seconds on both threads, two on one: 22 of CPU time."""


@pytest.mark.parametrize(
    ("cpu_s", "share", "is_noted"),
    [(22.0, "100.0%", False), (20.9, "95.0%", False), (11.0, "50.0%", True), (25.0, "100.0%", False)],
)
def test_cpu_time_is_held_against_what_the_threads_could_have_used(
    cpu_s: float, share: str, is_noted: bool
) -> None:
    speed = Speed(**WORK, cpu_s=cpu_s)
    assert cpu_share_text(speed, TWO) == share
    said = contention_notes([("small", speed, TWO)])
    assert bool(said) is is_noted
    assert all("small got 50.0% of the CPU time" in line for line in said)


@pytest.mark.parametrize(
    ("fingerprint", "cpu_s"),
    [(None, 1.0), ({}, 1.0), ({**TWO, "model.n_gpu_layers": 9}, 1.0), (TWO, None), (TWO, 0.0)],
)
def test_nothing_is_said_where_nobody_knows(fingerprint: dict[str, int] | None, cpu_s: float | None) -> None:
    speed = Speed(**WORK, cpu_s=cpu_s)
    assert (cpu_share_text(speed, fingerprint), contention_notes([("small", speed, fingerprint)])) == (
        "-",
        [],
    )


def test_several_arms_share_a_line() -> None:
    busy, quiet = Speed(**WORK, cpu_s=11.0), Speed(**WORK, cpu_s=22.0)
    named = [("one", busy, TWO), ("two", quiet, TWO), ("three", busy, TWO), ("four", busy, TWO)]
    (said,) = contention_notes(named)
    assert said.startswith(
        "one got 50.0%, three got 50.0% and four got 50.0% of the CPU time that their threads"
    )
    assert said.endswith("their speeds and times cannot be compared")
    (said,) = contention_notes([*named, ("five", busy, TWO)])
    assert said.startswith("4 of 5 arms got less than 90.0% of the CPU time that their threads")
