"""Stored runs scored again, and written as files."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world

from rig.core.errors import RigError
from rig.core.events import TurnFinished
from rig.methods.scripted import Scripted
from rig.plugins.matching.matching import Grader
from rig.plugins.rescore.setups import setup_for_files, setup_of
from rig.plugins.rescore.stored import export_run, score_files, score_run
from rig.running.control import Control
from rig.running.runner import run
from rig.store import GraderInfo, Runs, StoredScore

TABLES = ("scores", "predictions", "turns", "faults")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A run of a poor model and of the oracle, twice over each conversation."""
    path = tmp_path / "runs.sqlite"
    models = (Scripted(small_talks.erratic), small_talks.oracle())
    small_talks.play(small_talks.plan(path, *models, repeats=2))
    return path


def again(store: Path, mode: Any = "upstream") -> dict[str, Any]:
    stored = small_talks.stored(store)
    found: dict[str, Any] = {arm.name: [] for arm in stored.arms}
    setup = small_talks.setup(small_talks.grader(mode))
    score_run(store, stored, setup, lambda where, scored: found[stored.arms[where.arm].name].append(scored))
    return found


def scores(store: Path) -> list[StoredScore]:
    with Runs.open(store) as runs:
        return runs.scores(small_talks.stored(store))


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = small_talks.content(store, [table])[table]
    return found


def test_the_same_grader_finds_the_same_and_changes_nothing(store: Path) -> None:
    before = small_talks.content(store, TABLES)
    found = again(store, "default")
    assert small_talks.content(store, TABLES) == before
    with Runs.open(store) as runs:
        for arm in small_talks.stored(store).arms:
            for scored in found[arm.name]:
                name = scored.conversation.name
                stored = runs.transcript(small_talks.stored(store), name, arm.position, scored.repeat)
                assert scored.score.counts == stored.counts
                kept = [(fault.kind, fault.turn, fault.text, fault.got) for fault in stored.faults]
                found_now = scored.score.faults
                assert [(fault.kind, fault.turn, fault.text, fault.got) for fault in found_now] == kept
                verdicts = [step.verdict for turn in stored.turns.values() for step in turn.steps]
                assert list(scored.score.verdicts) == [each for each in verdicts if each]


def test_another_grader_is_stored_beside(store: Path) -> None:
    own, run_before = rows(store, "scores"), small_talks.stored(store)
    predictions = rows(store, "predictions")
    found = again(store)
    assert rows(store, "scores")[: len(own)] == own
    assert len(rows(store, "scores")) == 2 * len(own)
    assert rows(store, "predictions") == predictions
    assert small_talks.stored(store).arms == run_before.arms
    assert [(each.arm, each.grader.grader) for each in scores(store)] == [
        (0, "default"),
        (0, "upstream"),
        (1, "default"),
        (1, "upstream"),
    ]
    upstream = scores(store)[1]
    assert upstream.grader == GraderInfo("upstream", Grader.version, "exact")
    assert upstream.counts["predictions"] == sum(len(scored.score.verdicts) for scored in found["arm0"])
    assert sum(upstream.faults.values()) == sum(len(scored.score.faults) for scored in found["arm0"]) > 0
    assert sum(upstream.error_types.values()) > 0


def test_every_verdict_is_kept_with_its_score(store: Path) -> None:
    found = again(store)
    from rig.store.connect import connect_for_reading

    with connect_for_reading(store) as database:
        kept = list(
            database.query(
                "SELECT verdicts.match, verdicts.bad_action FROM verdicts JOIN scores ON scores.id = score"
                " JOIN predictions ON predictions.id = prediction JOIN turns ON turns.id = predictions.turn"
                " WHERE scores.arm = 1 ORDER BY scores.id, turns.turn, step"
            )
        )
    verdicts = [verdict for scored in found["arm0"] for verdict in scored.score.verdicts]
    assert [(row["match"], row["bad_action"]) for row in kept] == [(v.match, v.bad_action) for v in verdicts]


def test_scoring_twice_stores_once(store: Path) -> None:
    again(store)
    once = small_talks.content(store, ("scores", "faults"))
    again(store)
    twice = small_talks.content(store, ("scores", "faults"))
    assert len(twice["scores"]) == len(once["scores"])
    assert [row["text"] for row in twice["faults"]] == [row["text"] for row in once["faults"]]


def test_unfinished_conversations_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    control = Control()

    def stop(event: object) -> None:
        if isinstance(event, TurnFinished) and event.turn == 5:
            control.stop()

    run(small_talks.plan(path, small_talks.oracle()), stop, control)
    assert [scored.conversation.name for scored in again(path)["arm0"]] == ["alarms"]
    written = export_run(path, small_talks.stored(path), small_talks.setup(), tmp_path / "out")
    assert [each.name for each in written] == ["alarms.json"]
    # The run can still be finished.
    small_talks.play(small_talks.plan(path, small_talks.oracle(), resume=True))
    assert small_talks.stored(path).state == "finished"


def test_a_grading_is_that_of_the_run_but_for_what_is_given(store: Path, tmp_path: Path) -> None:
    recipe = {"models": ["oracle"], "grader": "per-turn", "similarity": "exact", "world": str(tmp_path)}
    path = tmp_path / "other.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), recipe=recipe))
    stored = small_talks.stored(path)
    was = setup_of(stored)
    assert (was.grader.grader, was.grader.similarity) == ("per-turn", "exact")
    with pytest.raises(RigError, match=str(tmp_path)):
        was.fingerprint  # noqa: B018 - there is no world in that folder
    assert setup_of(stored, grader="upstream").grader.grader == "upstream"
    assert setup_of(stored, similarity="minilm").grader.similarity == "minilm"
    world = small_world.write(tmp_path / "databases")
    assert setup_of(stored, world=world).fingerprint["world_sha256"] == small_world.new_world().sha256()


def test_a_runs_reader_is_opened_only_where_texts_are_graded(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    recipe = {"models": ["oracle"], "similarity": "minilm"}
    small_talks.play(small_talks.plan(path, small_talks.oracle(), recipe=recipe))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE runs SET settings = json_set(settings, '$.reader', 'nobody')")
    stored = small_talks.stored(path)
    assert setup_of(stored).grader.similarity == "minilm"
    with pytest.raises(RigError, match="nobody"):
        setup_of(stored, answers=tmp_path / "answers.jsonl")


def test_what_is_exported_scores_the_same(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    written = export_run(path, small_talks.stored(path), small_talks.setup(), tmp_path / "out")
    assert sorted(each.name for each in written) == ["alarms.json", "login.json", "reminders.json"]
    [(method, setup)] = setup_for_files(tmp_path / "out", similarity="exact")
    from_files = {each.conversation.name: each for each in score_files(tmp_path / "out", method, setup)[""]}
    for scored in again(path, "default")["arm0"]:
        assert from_files[scored.conversation.name].as_json() == scored.as_json()


def test_each_arm_and_repeat_has_a_folder(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = export_run(store, small_talks.stored(store), small_talks.setup(), out)
    folders = {str(path.parent.relative_to(out)) for path in written}
    assert folders == {f"{arm}/repeat-{repeat}" for arm in ("arm0", "arm1") for repeat in (1, 2)}
    assert len(written) == 12


def test_nothing_is_overwritten(store: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    for place in (tmp_path / "out", tmp_path / "out" / "mine.txt"):
        with pytest.raises(RigError, match="choose a new one"):
            export_run(store, small_talks.stored(store), small_talks.setup(), place)
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["mine.txt"]
    with pytest.raises(RigError, match="cannot be written"):
        export_run(
            store, small_talks.stored(store), small_talks.setup(), tmp_path / "out" / "mine.txt" / "deeper"
        )


def test_a_file_that_cannot_be_written_leaves_none(tmp_path: Path) -> None:
    from rig.methods.scripted import Oracle
    from rig.plugins.tooltalk.conversations import parse_conversation

    long = "n" * 300
    conversations = tuple(
        parse_conversation({**small_talks.sources()[0], "name": name}, name) for name in ("first", long)
    )
    path, out = tmp_path / "runs.sqlite", tmp_path / "new" / "out"
    small_talks.play(small_talks.plan(path, Oracle(conversations), conversations=conversations))
    with pytest.raises(RigError, match=f"^{out}/{long}.json: cannot be written: File name too long$"):
        export_run(path, small_talks.stored(path), small_talks.setup(), out)
    assert [each.name for each in tmp_path.iterdir()] == ["runs.sqlite"]


@pytest.mark.parametrize(
    ("before", "after"),
    [('"recorded"', '"recobded"'), ('"protocol.docs": "full"', '"protocol.docs": {}')],
)
def test_settings_that_rig_never_wrote_are_one_line(store: Path, before: str, after: str) -> None:
    with closing(sqlite3.connect(store)) as database, database:
        changed = database.execute(
            "UPDATE arms SET fingerprint = replace(fingerprint, ?, ?)", (before, after)
        )
        assert changed.rowcount
    assert after in (small_talks.content(store, ["arms"])["arms"][0]["fingerprint"])
    with pytest.raises(RigError, match=r"^run abcde: its settings are damaged: "):
        again(store)


def test_names_cannot_lead_out_of_the_directory(tmp_path: Path) -> None:
    from rig.plugins.tooltalk.conversations import parse_conversation

    names = ["../up", "..", ".", "/etc/x", "a\\b", "\x1b[31m", "ok name-1"]
    conversations = tuple(
        parse_conversation({**small_talks.sources()[0], "name": name}, name) for name in names
    )
    path, out = tmp_path / "runs.sqlite", tmp_path / "out"
    from rig.methods.scripted import Oracle

    plan = small_talks.plan(path, Oracle(conversations), conversations=conversations)
    small_talks.play(plan)
    written = export_run(path, small_talks.stored(path), small_talks.setup(), out)
    assert sorted(out.iterdir()) == sorted(written)
    assert [json.loads(each.read_text())["name"] for each in written] == names
    assert all(each.name.isprintable() for each in written)
    assert "ok name-1.json" in {each.name for each in written}
