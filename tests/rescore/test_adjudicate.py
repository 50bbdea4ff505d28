"""`rig adjudicate`: texts that no rule settles, each asked once, and the rates that move with the answers."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import unclear_talks
from terminals import RIG, Terminal

from rig.scoring import answers_file, read_answers

Rig = Callable[..., Any]
BLURRED = [unclear_talks.blurred(task) for task in unclear_talks.TASKS]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("unclear") / "runs.sqlite"
    unclear_talks.play(store)
    return store


@pytest.fixture
def store(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    path.write_bytes(played.read_bytes())
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


def say(store: Path, **answers: bool) -> None:
    """Answers to the blurred form of these tasks, by their first word, as a file has them."""
    lines = [
        json.dumps({"first": task, "second": blurred, "same": answers[word]})
        for task, blurred in zip(unclear_talks.TASKS, BLURRED, strict=True)
        if (word := task.split()[0]) in answers
    ]
    with answers_file(store).open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_unclear_texts_are_bounds_of_the_rates(store: Path, rig: Rig) -> None:
    shown = rig("show", "latest")
    rows = {line[:22].strip(): line[22:].split() for line in shown.out.splitlines()}
    assert rows["recall"] == ["0.0%", "to", "100.0%", "100.0%"]
    assert rows["incorrect actions"] == ["0.0%", "to", "100.0%", "0.0%"]
    assert rows["texts unclear"] == ["10", "0"]
    assert "until you decide: rig adjudicate abcde" in shown.out
    assert "until you decide: rig adjudicate abcde" in rig("show", "latest", "--by", "skill").out
    assert "Texts that rig cannot judge count as wrong: 10." in rig("show", "latest", "--tables").out
    blurring, oracle = rig("show", "latest", "--json").json["arms"]
    assert (blurring["recall"], blurring["lower"]["recall"], blurring["upper"]["recall"]) == (0, 0, 1)
    assert (blurring["lower"]["success_rate"], blurring["upper"]["success_rate"]) == (0, 1)
    assert (blurring["unclear"], oracle["unclear"]) == (10, 0)
    assert (oracle["lower"]["recall"], oracle["upper"]["recall"]) == (1, 1)


def test_a_comparison_takes_the_pessimistic_end_and_says_so(store: Path, rig: Rig) -> None:
    out = rig("compare", "latest", "--baseline", "arm1", "--across-settings", "--full").out
    assert "texts that are unclear count as wrong for every arm" in out
    assert "recall, if they are right" in out
    found = rig("compare", "latest", "--baseline", "arm1", "--across-settings", "--json").json
    assert found["arms"][1]["rates"]["recall"]["value"] == 0
    assert found["arms"][1]["metrics"]["upper"]["recall"] == 1


def test_what_is_unclear_is_listed_once_with_its_conversation(store: Path, rig: Rig) -> None:
    found = rig("adjudicate", "latest", "--json").json
    assert [(each["expected"], each["got"]) for each in found["unclear"]] == list(
        zip(unclear_talks.TASKS, BLURRED, strict=True)
    )
    first = found["unclear"][0]
    assert (first["conversation"], first["turn"]) == ("talk0", 1)
    assert "arm" not in first
    assert rig("adjudicate", "latest", "--json", "--show-arms").json["unclear"][0]["arm"] == "arm0"
    assert first["said"] == [{"role": "user", "text": "Remind me to water the ferns tomorrow."}]


@pytest.mark.slow
def test_answers_make_new_scores_beside_the_old(store: Path, rig: Rig) -> None:
    say(store, water=True, call=True, feed=False)
    rig("score", "latest")
    own, *_ = rig("show", "latest", "--json").json["scores"]
    later = next(
        each for each in rig("show", "latest", "--json").json["scores"] if "answers" in each["similarity"]
    )
    assert (own["similarity"], own["metrics"]["unclear"]) == ("minilm", 10)
    assert later["similarity"] == f"minilm, answers {read_answers(answers_file(store)).sha256[:8]}"
    assert (later["metrics"]["unclear"], later["metrics"]["lower"]["recall"]) == (7, 0.2)
    assert later["metrics"]["upper"]["recall"] == 0.9
    grader = rig("score", "latest", "--json").json["grader"]
    assert grader["answers_sha256"] == read_answers(answers_file(store)).sha256


def test_the_last_answer_counts_and_contradictions_are_said(store: Path, rig: Rig) -> None:
    say(store, water=True)
    say(store, water=False)
    done = rig("adjudicate", "latest", "--json")
    assert len(done.json["unclear"]) == 9
    assert "1 contradict an earlier answer: the last one counts" in done.err
    assert read_answers(answers_file(store)).of(BLURRED[0], unclear_talks.TASKS[0]) is False


def test_answers_travel(store: Path, rig: Rig, tmp_path: Path) -> None:
    say(store, water=True, call=False)
    assert "wrote 2 answers to" in rig("adjudicate", "--export", tmp_path / "mine.jsonl").err
    other = tmp_path / "other" / "runs.sqlite"
    other.parent.mkdir()
    say(other, water=False)
    done = rig("adjudicate", "--import", tmp_path / "mine.jsonl", "--runs", other)
    assert "added 2 answers to" in done.err
    assert "1 contradict an earlier answer" in done.err
    assert read_answers(answers_file(other)).sha256 == read_answers(answers_file(store)).sha256
    assert rig("adjudicate", "--export", tmp_path / "mine.jsonl").code == 2


@pytest.mark.parametrize("line", ["{", "[]", '{"first": 1, "second": "b", "same": true}', '{"first": "a"}'])
def test_what_is_no_answer_is_one_line(store: Path, rig: Rig, line: str) -> None:
    answers_file(store).write_text(f"{line}\n")
    done = rig("adjudicate", "latest")
    assert done.code == 2
    assert "line 1" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.slow
def test_ten_pairs_are_answered_in_two_sittings(store: Path, rig: Rig, terminal: Terminal) -> None:
    """In a real terminal: five answers, one left open, leave, come back, the rest."""
    terminal.type(f"{RIG} --open {store.parent.parent} adjudicate latest --runs {store}; echo left")
    terminal.wait("1 of 10: talk0, turn 1", "Remind me to water the ferns", "finally", "s(kip)")
    for number, key in enumerate(("y", "n", "skip", "what", "y", "yes", "no"), 1):
        terminal.type(key)
        terminal.wait(f"{number + (number < 4)} of 10:")
    terminal.type("q")
    terminal.wait("5 of 10 answered", "rig score abcde", "left")
    assert len(read_answers(answers_file(store))) == 5
    terminal.type(
        f"clear; {RIG} --open {store.parent.parent} adjudicate latest --runs {store}; echo left again"
    )
    terminal.wait("1 of 5: talk2")
    for number in range(2, 6):
        terminal.type("y")
        terminal.wait(f"{number} of 5:")
    terminal.type("n")
    terminal.wait("5 of 5 answered", "left again")
    rig("score", "latest")
    scores = rig("show", "latest", "--json").json["scores"]
    later = next(each for each in scores if "answers" in each["similarity"])
    assert later["metrics"]["unclear"] == 0
    assert later["metrics"]["recall"] == later["metrics"]["upper"]["recall"] == 0.7
    assert "no unclear texts" in rig("adjudicate", "latest").out


def test_from_answers_to_the_exit_code(rig: Rig, store: Path) -> None:
    """Adjudicate, score, compare, report, and what a script is told, in one go."""
    compare = ("compare", "latest", "--baseline", "arm1", "--across-settings")
    gate = ("--fail-if-worse", "5", "--fail-if-unsure")
    open_ = rig(*compare, *gate)
    assert open_.code == 3
    assert "cannot tell: 10 unclear texts decide it" in open_.out
    assert "rig adjudicate abcde" in open_.out
    looks = rig(*compare, "--sequential", *gate)
    assert looks.code == 3
    assert "cannot tell: 10 unclear texts decide it" in looks.out
    say(store, **{task.split()[0]: False for task in unclear_talks.TASKS})
    assert rig("score", "latest").code == 0
    found = rig(*compare, *gate)
    assert found.code == 1
    assert "loss found: success is 100.0 points lower" in found.out
    assert re.search("compared .* graded by .* answers", found.out)
    assert rig(*compare, *gate, "--graded-by", "own").code == 3
    assert rig(*compare, "--sequential", *gate).code == 1
    assert rig(*compare, "--graded-by", "nobody").code == 2
    report = rig("report", "latest", "--baseline", "arm1", "--across-settings", "--format", "md").out
    assert "loss found: success is 100.0 points lower" in report
    assert rig("show", "latest", "--json").json["arms"][0]["unclear"] == 0
    assert rig("show", "latest", "--json", "--graded-by", "own").json["arms"][0]["unclear"] == 10
    assert rig("runs", "--json").json[0]["arms"][0]["unclear"] == 0
    transcript = rig("show", "latest", "talk0", "--arm", "arm0", "--json").json["transcripts"][0]
    assert "adjudicated: another thing" in json.dumps(transcript)


@pytest.mark.slow
def test_the_last_answers_are_shown_whichever_they_are(rig: Rig, store: Path) -> None:
    def recall() -> float:
        assert rig("score", "latest").code == 0
        return float(rig("runs", "--json").json[0]["arms"][0]["recall"])

    say(store, water=True)
    first = answers_file(store).read_text()
    assert recall() == 0.1
    say(store, call=True)
    assert recall() == 0.2
    answers_file(store).write_text(first)
    assert recall() == 0.1
    answers_file(store).unlink()
    assert recall() == 0


def test_answers_are_shown_of_a_run_that_an_older_version_graded(rig: Rig, store: Path) -> None:
    with closing(sqlite3.connect(store)) as database:
        database.execute("UPDATE scores SET grader_version = '3'")
        database.commit()
    say(store, water=True)
    assert rig("score", "latest").code == 0
    [arm, *_] = rig("runs", "--json").json[0]["arms"]
    assert arm["recall"] == 0.1
    assert arm["grader"]["grader_version"] != "3"
    assert rig("show", "latest", "--json", "--graded-by", "own").json["arms"][0]["recall"] == 0


@pytest.mark.slow
def test_one_unrelated_answer_makes_nothing_incomparable(rig: Rig, store: Path, played: Path) -> None:
    say(store, water=True)
    rig("score", "latest")
    unclear_talks.play(store, run="fghij")
    line = {"first": "some text", "second": "another", "same": False}
    with answers_file(store).open("a") as file:
        file.write(json.dumps(line) + "\n")
    rig("score", "fghij")
    done = rig("compare", "abcde/arm0", "fghij/arm0", "--across-settings")
    assert done.code == 0, done.err
    assert "`rig score abcde` and `rig score fghij`" in done.out
    then = "rig adjudicate abcde and rig adjudicate fghij, then rig score abcde and rig score fghij"
    assert f"to decide them: {then}" in done.out
    assert "the graders differ" not in (ranked := rig("leaderboard").out)
    assert "decided by different answers; to use all: `rig score" in ranked
    for run in ("abcde", "fghij"):
        rig("score", run)
    assert "different answers" not in rig("compare", "abcde/arm0", "fghij/arm0", "--across-settings").out


@pytest.mark.slow
def test_an_answer_can_be_undone(store: Path, terminal: Terminal) -> None:
    terminal.type(f"{RIG} --open {store.parent.parent} adjudicate latest --runs {store}; echo left")
    terminal.wait("1 of 10: talk0")
    terminal.type("y")
    terminal.wait("2 of 10: talk1")
    terminal.type("u")
    terminal.wait("u(ndo), q(uit) > u")
    terminal.type("n")
    terminal.type("q")
    terminal.wait("1 of 10 answered", "left")
    assert read_answers(answers_file(store)).of(unclear_talks.TASKS[0], BLURRED[0]) is False


def test_a_leaderboard_says_that_unclear_texts_decide_the_order(rig: Rig, store: Path) -> None:
    unclear_talks.play(store, run="fghij", clear=5)
    assert "cannot tell the order: 25 unclear texts decide it" not in rig("leaderboard").out.replace(
        "25", "x"
    )
    assert "cannot tell the order: 15 unclear texts decide it" in rig("leaderboard").out


def test_an_order_that_unclear_texts_could_make_a_tie_is_not_told(rig: Rig, tmp_path: Path) -> None:
    unclear_talks.play(tmp_path / "runs.sqlite", clear=3)
    board = rig("leaderboard", "--all", "--runs", tmp_path / "runs.sqlite").out
    assert "cannot tell the order: 7 unclear texts decide it" in board
