"""From stored runs to a comparison: the numbers, what is reduced, and what is refused."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks
from counted import METRICS
from graded_talks import model, play

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import Comparison
from rig.compare.verdict import VerdictKind
from rig.core.errors import RigError
from rig.core.events import ConversationFinished, TurnFinished
from rig.core.metrics import TASKS
from rig.plugins.matching.matching import Grader
from rig.plugins.rescore.stored import score_run
from rig.plugins.statistics.text import statistics_text
from rig.plugins.strategies.looks import compare_sequentially
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.running.control import Control
from rig.running.plan import Arm
from rig.running.runner import run as run_plan
from rig.scoring import Exact
from rig.show.card import opening
from rig.show.compare import notes
from rig.stats.paired import exact_mcnemar, holm
from rig.store import Runs

N = 12
QUICK = ComparisonOptions(resamples=500)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def compared(store: Path, *addresses: str, **asked: Any) -> Comparison:
    with Runs.open(store) as runs:
        return compare(runs, addresses or ("latest",), replace(QUICK, **asked))


def test_what_flipped_is_what_the_models_were_made_to_flip(store: Path) -> None:
    play(store, model(N, {0, 1, 2}), model(N, {2, 3, 4, 5, 6}, acts=True), number=N)
    found = compared(store)
    (pair,) = found.pairs
    assert (found.baseline.label, pair.arm, pair.conversations) == ("arm0", "arm1", N)
    assert pair.agreement is not None
    assert pair.agreement.as_json() == {"both": 5, "won": 2, "lost": 4, "neither": 1}
    assert [(flip.conversation, flip.outcome) for flip in pair.flips] == [
        ("talk03", "lost"),
        ("talk05", "lost"),
        ("talk04", "lost"),
        ("talk06", "lost"),
        ("talk01", "won"),
        ("talk00", "won"),
    ]
    assert {(flip.conversation, flip.turn) for flip in pair.turn_flips} == {
        (flip.conversation, 2) for flip in pair.flips
    }
    assert (pair.won, pair.lost, pair.flip_rate) == (2, 4, 0.5)
    assert pair.flips[0].commands == (f"rig show abcde talk03 --arm arm0 --arm arm1 --runs {store}",)
    success = pair.differences["success_rate"]
    assert (success.test, success.value) == ("exact McNemar", pytest.approx(-2 / N))
    assert success.p == success.p_holm == exact_mcnemar(2, 4)


def test_an_arms_numbers_are_those_of_its_run(store: Path) -> None:
    run = play(store, model(N, {0}), model(N, {1, 2}, acts=True), number=N)
    found = compared(store)
    for arm, stored in zip(found.arms, run.arms, strict=True):
        assert arm.counts == stored.counts
        for name in METRICS:
            assert arm.rates[name].value == METRICS[name].rate(stored.counts)
        assert (arm.errors, arm.error_types, arm.faults) == (stored.errors, stored.error_types, stored.faults)
        spent = stored.speed.wall_s - stored.speed.store_s
        assert arm.speed.as_json() == pytest.approx(
            {**stored.speed.as_json(), "store_s": 0, "wall_s": spent}, abs=1e-9
        )
        assert arm.turn_times.turns == 2 * N
        assert arm.turn_times.mean_s == pytest.approx(spent / (2 * N))
        assert (arm.finished, arm.planned, arm.repeats) == (N, N, (1, 1))
    (pair,) = found.pairs
    for name, difference in pair.differences.items():
        first, second = (arm.rates[name].value for arm in found.arms)
        assert first is not None
        assert difference.value == (None if second is None else pytest.approx(second - first))


def test_it_is_json_and_the_same_every_time(store: Path) -> None:
    play(store, model(N, {0}), model(N, {1, 2}), number=N)
    first, second = (json.dumps(compared(store).as_json(), allow_nan=False) for _ in range(2))
    assert first == second
    found = json.loads(first)
    assert found["bootstrap"] == {"resamples": 500, "seed": ComparisonOptions().seed}
    assert found["pairs"][0]["verdict"]["kind"] in set(VerdictKind)


@pytest.mark.slow
def test_the_order_in_which_conversations_were_played_is_of_no_account(store: Path) -> None:
    play(store, model(N, {0, 5}), model(N, {1, 2, 7}), number=N)
    other = store.with_name("other.sqlite")
    play(
        other,
        model(N, {0, 5}),
        model(N, {1, 2, 7}),
        number=N,
        conversations=graded_talks.conversations(N)[::-1],
    )
    first, second = compared(store), compared(other)
    assert first.conversations == second.conversations
    assert first.pairs[0].differences == second.pairs[0].differences


def test_exchanging_baseline_and_arm_changes_signs_and_sides(store: Path) -> None:
    play(store, model(N, {0, 1}), model(N, {1, 2, 3}, acts=True), number=N)
    first, second = compared(store), compared(store, baseline="arm1")
    assert [arm.label for arm in second.arms] == ["arm1", "arm0"]
    there, back = first.pairs[0], second.pairs[0]
    assert (there.won, there.lost) == (back.lost, back.won)
    for name, difference in there.differences.items():
        other = back.differences[name]
        assert difference.value is not None
        assert difference.low is not None
        assert difference.high is not None
        assert other.value == pytest.approx(-difference.value)
        assert (other.low, other.high) == pytest.approx((-difference.high, -difference.low))
        assert other.p == pytest.approx(difference.p)


def test_p_values_are_corrected_for_the_number_of_arms(store: Path) -> None:
    play(store, model(N), model(N, set(range(8))), model(N, set(range(6))), model(N), number=N)
    found = compared(store)
    for name in METRICS:
        p = [pair.differences[name].p for pair in found.pairs]
        assert [pair.differences[name].p_holm for pair in found.pairs] == holm(p)
    assert [pair.verdict.kind for pair in found.pairs] == [
        VerdictKind.LOSS,
        VerdictKind.SUSPECTED,
        VerdictKind.NO_LOSS_FOUND,
    ]
    alone = compared(store, "abcde/arm0", "abcde/arm2")
    assert alone.pairs[0].verdict.kind is VerdictKind.LOSS
    assert alone.pairs[0].differences["success_rate"].p == pytest.approx(2 / 2**6)


def test_the_verdict_is_about_the_metric_asked_for(store: Path) -> None:
    play(store, model(N), model(N, set(range(N)), acts=True), number=N)
    for metric in METRICS:
        found = compared(store, metric=metric)
        assert found.pairs[0].verdict.kind is VerdictKind.LOSS, metric
        assert METRICS[metric].noun in found.pairs[0].verdict.text
    with pytest.raises(RigError, match="no metric 'f1'; choose from: success_rate"):
        compared(store, metric="f1")


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_an_impossible_alpha_is_refused(store: Path, alpha: float) -> None:
    play(store, model(N), model(N), number=N)
    with pytest.raises(RigError, match="is not a probability"):
        compared(store, alpha=alpha)


@pytest.mark.slow
def test_repeats_count_as_one_conversation(store: Path) -> None:
    """Twice as many plays of the same conversations say no more about conversations."""
    wrong = {(0, 0), (0, 1), (1, 0), (2, 2)}
    play(store, model(N), model(N, wrong), number=N, repeats=3)
    found = compared(store)
    (pair,) = found.pairs
    assert pair.agreement is None
    assert found.arms[1].repeats == (3, 3)
    assert found.arms[1].rates["success_rate"].value == pytest.approx(1 - 4 / (3 * N))
    assert sorted(found.arms[1].flaky) == ["talk00", "talk01", "talk02"]
    every = found.arms[1].reliability[-1]
    assert (every.k, every.all_pass.value, every.any_passes.value) == (3, pytest.approx(1 - 3 / N), 1.0)
    wide = compared(store, alpha=0.01).arms[1].reliability[-1].all_pass
    assert wide.low < every.all_pass.low < every.all_pass.high < wide.high
    text = "\n".join([statistics_text(found), *notes(found)])
    assert re.search(r"all of 3 repeats \(pass\^3\) .* 100\.0% ", text)
    assert "succeeds in some repeats and fails in others of talk" in text
    assert found.arms[1].as_json(found.declaration)["flaky"] == found.arms[1].flaky
    assert pair.differences["success_rate"].test == "bootstrap"
    flips = {
        flip.conversation: (flip.baseline_right, flip.arm_right, flip.arm_repeats) for flip in pair.flips
    }
    assert flips == {"talk00": (3, 1, 3), "talk01": (3, 2, 3), "talk02": (3, 2, 3)}
    again = store.with_name("again.sqlite")
    play(again, model(N), model(N, {*wrong, *((c, r + 3) for c, r in wrong)}), number=N, repeats=6)
    more = compared(again).pairs[0].differences["success_rate"]
    assert (more.low, more.high) == pytest.approx(
        (pair.differences["success_rate"].low, pair.differences["success_rate"].high)
    )


def test_arms_of_several_runs_are_compared_and_named_apart(store: Path) -> None:
    play(store, model(N, {0}), number=N, run="first", name="before")
    play(store, model(N, {1}), number=N, run="secnd")
    found = compared(store, "before", "secnd")
    assert [arm.label for arm in found.arms] == ["first/arm0", "secnd/arm0"]
    assert found.pairs[0].flips[0].commands == tuple(
        f"rig show {run} talk01 --arm arm0 --runs {store}" for run in ("first", "secnd")
    )
    for baseline in ("secnd/arm0", "secnd", "se"):
        assert compared(store, "first", "secnd", baseline=baseline).baseline.label == "secnd/arm0"
    assert compared(store, "secnd", "first", baseline="before").baseline.label == "first/arm0"
    with pytest.raises(RigError, match="could be any of first/arm0, secnd/arm0"):
        compared(store, "first", "secnd", baseline="arm0")
    with pytest.raises(RigError, match="not one of the compared arms, which are: first/arm0, secnd/arm0"):
        compared(store, "first", "secnd", baseline="q2_k")


def test_an_arm_is_addressed_by_its_run_and_name(store: Path) -> None:
    names = ("a/b", "a/b docs=names", "c")
    play(store, model(N), model(N), model(N), number=N, names=names, name="x/y")
    assert [arm.arm for arm in compared(store, "abcde/c", "x/y/a/b").arms] == ["c", "a/b"]
    assert [arm.arm for arm in compared(store, "latest", "abcde/c").arms] == list(names)
    assert [arm.arm for arm in compared(store, "abc/a/b d", "abc/c").arms] == ["a/b docs=names", "c"]
    for address, fault in (
        ("abcde/q", "'q' is not one of its arms, which are: a/b, a/b docs=names, c"),
        ("abcde/a", "'a' could be any of: a/b, a/b docs=names"),
        ("nothing", "no run 'nothing'"),
        ("nothing/c", "no run 'nothing/c'"),
    ):
        with pytest.raises(RigError, match=fault):
            compared(store, address, "abcde/c")


def test_one_arm_is_nothing_to_compare(store: Path) -> None:
    play(store, model(N), number=N)
    with pytest.raises(RigError, match="arm0 is the only arm; name another run or arm"):
        compared(store)
    with pytest.raises(RigError, match="is the only arm"):
        compared(store, "abcde", "abcde/arm0")


def test_conversations_that_only_one_run_has_are_left_out_and_it_is_said(store: Path) -> None:
    play(store, model(N), number=N, run="large")
    play(store, model(N, {1}), number=8, run="small")
    found = compared(store, "large", "small")
    assert len(found.conversations) == 8
    assert "compared on the 8 conversations that all have finished; 4 are left out" in found.notes
    assert found.arms[0].counts[TASKS] == 8


def test_each_arm_is_compared_over_what_it_shares_with_the_baseline(store: Path) -> None:
    talks = graded_talks.conversations(N)
    play(store, model(N), number=N, run="large")
    play(store, model(N, {1}), number=N, run="equal")
    play(store, model(N, {1}), number=4, run="small")
    play(store, model(N), number=N, run="other", conversations=talks[4:])
    alone = {pair.arm: pair for arm in ("equal", "small") for pair in compared(store, "large", arm).pairs}
    found = compared(store, "large", "equal", "small", "other")
    assert [pair.conversations for pair in found.pairs] == [N, 4, N - 4]
    assert [int(arm.counts[TASKS]) for arm in found.arms] == [N, N, 4, N - 4]
    assert found.conversations == ()
    assert "equal/arm0 on 12, small/arm0 on 4, other/arm0 on 8" in " ".join(found.notes)
    turned = compared(store, "equal", "large", "small", "other", baseline="equal")
    rows = [row for row in turned.to_dicts() if row["metric"] == "success_rate"]
    assert [row["baseline_rate"] for row in rows] == [11 / 12, pytest.approx(3 / 4), pytest.approx(1)]
    assert all(row["value"] == pytest.approx(row["rate"] - row["baseline_rate"]) for row in rows)
    for pair in found.pairs[:2]:
        before = alone[pair.arm]
        assert pair.flips == before.flips
        assert [each.value for each in pair.differences.values()] == [
            each.value for each in before.differences.values()
        ]
    assert json.loads(json.dumps(found.as_json()))["pairs"][1]["conversations"] == 4
    lone = compared(store, "small", "large", "other")
    assert lone.left_out == {"other/arm0": "has finished no conversation that small/arm0 has finished"}
    with Runs.open(store) as runs:
        looked = compare_sequentially(runs, ["small", "large", "other"], 0.05)
    assert looked.left_out == lone.left_out


def test_a_conversation_whose_text_has_changed_is_another_one(store: Path) -> None:
    play(store, model(4), number=4, run="first")
    changed = json.loads(json.dumps(graded_talks.conversations(4)[2].source))
    changed["conversation"][0]["text"] = "Wake me at two, please."
    talks = [*graded_talks.conversations(4)]
    talks[2] = parse_conversation(changed, "talk02")
    play(store, model(4), number=4, run="secnd", conversations=tuple(talks))
    found = compared(store, "first", "secnd")
    assert [name for name, _ in found.conversations] == ["talk01", "talk03", "talk00"]
    assert "1 are left out, 1 of them because their texts differ between runs" in " ".join(found.notes)


def test_runs_without_a_common_conversation_are_refused(store: Path) -> None:
    talks = graded_talks.conversations(N)
    play(store, model(N), number=N, run="first", conversations=talks[:5])
    play(store, model(N), number=N, run="secnd", conversations=talks[5:])
    with pytest.raises(RigError, match="no conversation has been finished by all"):
        compared(store, "first", "secnd")


def _stopping(store: Path, run: str, after: int, *arms: Any) -> None:
    control = Control()
    finished = 0

    def stop(event: object) -> None:
        nonlocal finished
        finished += isinstance(event, ConversationFinished)
        if finished == after:
            control.stop()

    todo = small_talks.plan(
        store,
        run=run,
        conversations=graded_talks.conversations(N),
        arms=tuple(
            Arm(f"arm{place}", each, ToolTalkSettings(max_calls=3)) for place, each in enumerate(arms)
        ),
    )
    run_plan(todo, stop, control)


def test_of_unfinished_runs_what_both_have_finished_is_compared(store: Path) -> None:
    play(store, model(N), number=N, run="whole")
    _stopping(store, "begun", 5, lambda _: model(N, {1}))
    found = compared(store, "whole", "begun")
    assert len(found.conversations) == 5
    assert (found.arms[1].finished, found.arms[1].planned) == (5, N)
    assert any(
        note == f"begun/arm0 has finished 5 of {N} conversations; `rig run --resume begun` goes on"
        for note in found.notes
    )


def test_a_conversation_counts_once_in_every_rate_however_often_it_was_played(store: Path) -> None:
    wrong = set(range(0, N, 2))
    play(store, model(N, wrong), model(N, wrong), number=N, repeats=3)
    graded_talks.forget(store, 1, wrong, repeats=(1, 2))
    found = compared(store)
    (_, arm), (pair,) = found.arms, found.pairs
    assert any("repeated unequally often (3: arm0; 1 to 3: arm1)" in note for note in found.notes)
    assert (pair.differences["success_rate"].value, arm.rates["success_rate"].value) == (0, 0.5)
    metrics = arm.as_json(found.declaration)["metrics"]
    assert (metrics["success_rate"], metrics["upper"]["success_rate"]) == (0.5, 0.5)
    assert (metrics["conversations"], metrics["successes"]) == (24, 18)
    shown = ["".join(text for text, _ in line).split() for line in opening(found, 100)]
    [rates] = [words[2:4] for words in shown if words[:1] == ["arm1"]]
    assert rates == ["50.0%", "0.0"]


def test_an_arm_that_never_got_anywhere_is_left_out_with_its_reason(store: Path) -> None:
    def unloadable(_: object) -> Any:
        raise RigError("no such weights")

    _stopping(store, "abcde", -1, lambda _: model(N), unloadable, lambda _: model(N, {1}))
    found = compared(store)
    assert [arm.label for arm in found.arms] == ["arm0", "arm2"]
    assert found.left_out == {"arm1": "no such weights"}
    first = compared(store, "latest/arm1", "latest/arm0", "latest/arm2")
    assert first.left_out == {"arm1": "no such weights; the baseline is arm0 in its place"}
    with pytest.raises(RigError, match="'arm1' is not one of the compared arms"):
        compared(store, baseline="arm1")


def test_nothing_finished_is_refused(store: Path) -> None:
    _stopping(store, "abcde", -1, lambda _: model(N))
    with pytest.raises(RigError, match="is the only arm"):
        compared(store)
    other = store.with_name("other.sqlite")
    control = Control()

    def stop(event: object) -> None:
        if isinstance(event, TurnFinished):
            control.stop()

    run_plan(small_talks.plan(other, small_talks.oracle(), small_talks.oracle()), stop, control)
    with pytest.raises(RigError, match=r"nothing to compare: .* has finished no conversation"):
        compared(other)


def test_arms_that_differ_in_more_than_one_thing_are_refused_unless_asked_for(store: Path) -> None:
    names = ToolTalkSettings(docs="names", max_calls=3)
    few = ToolTalkSettings(docs="names", max_calls=2)
    play(
        store,
        model(N),
        model(N, {1}),
        model(N, {2}),
        number=N,
        settings=(ToolTalkSettings(max_calls=3), names, few),
    )
    alone = compared(store, "abcde/arm0", "abcde/arm1")
    assert [factor.name for factor in alone.arms[1].factors] == ["docs"]
    assert alone.notes == ()
    with pytest.raises(RigError, match=r"arm2 differs from arm0 in more than one thing: docs .*max_calls"):
        compared(store)
    found = compared(store, across_settings=True)
    assert found.notes == ("arm2 differs from arm0 in docs (full -> names), max_calls (3 -> 2)",)
    assert [len(arm.factors) for arm in found.arms] == [0, 1, 2]


def _rescore(store: Path, run: str, mode: Any) -> None:
    with Runs.open(store) as runs:
        stored = runs.get(run)
    score_run(store, stored, small_talks.setup(small_talks.grader(mode)))


def test_runs_graded_differently_are_compared_by_a_grader_that_both_have(store: Path) -> None:
    grader = Grader("upstream", Exact(), TOOLTALK)
    play(store, model(N), number=N, run="first")
    play(store, model(N, {0, 1}), number=N, run="secnd", grader=grader)
    with pytest.raises(RigError, match=r"no grader in common .*`rig score secnd --grader default`"):
        compared(store, "first", "secnd")
    _rescore(store, "secnd", "default")
    found = compared(store, "first", "secnd")
    assert found.grader.grader == "default"
    assert found.notes[-1].startswith("not all runs were graded alike")
    assert found.pairs[0].lost == 2
    assert {flip.turn for flip in found.pairs[0].turn_flips} == {2}
