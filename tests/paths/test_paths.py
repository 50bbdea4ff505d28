"""Where two arms part: the first token that differs in each flip, actions, and both sides of it."""

import json
import lzma
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from math import log
from pathlib import Path
from random import Random
from typing import Any

import pytest
import small_talks

from rig.compare.arms import ComparisonOptions
from rig.core.calls import Call
from rig.core.models import Model, OnPiece, Prediction, Request
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Oracle, called, replied
from rig.plugins.paths.difference import difference
from rig.plugins.paths.paths import paths_of
from rig.plugins.paths.text import paths_text
from rig.plugins.tooltalk.conversations import Conversation, parse_conversation
from rig.show.table import cell_width
from rig.store import Runs

Rig = Callable[..., Any]
DEMO = Path(__file__).parents[2] / "rig/plugins/replay/demo.sqlite.xz"


def tokens(prediction: Prediction, random: Random | None = None) -> Prediction:
    """The prediction as a model might have generated it: each token is one to five characters."""
    chars, place, raw = [], 0, prediction.raw
    while place < len(raw):
        # As in a vocabulary: how a text is cut depends on what comes next, and not on chance.
        size = 1 + sum(map(ord, raw[place : place + 2])) % 5
        chars.append(len(raw[place : place + size]))
        place += size
    starts = [sum(chars[:number]) for number in range(len(chars))]
    texts = [raw[start : start + size] for start, size in zip(starts, chars, strict=True)]
    chances = [log((random or Random(1)).uniform(0.2, 1)) for _ in texts]
    return replace(
        prediction,
        token_ids=tuple(int.from_bytes(text.encode(), "big") for text in texts),
        logprobs=tuple(chances),
        token_chars=tuple(chars),
        token_forced=tuple(number % 7 == 3 for number in range(len(texts))),
    )


def talks(count: int, seed: int) -> tuple[Conversation, ...]:
    random = Random(seed)
    sources = []
    for number in range(count):
        times = [f"{random.randrange(24):02}:{random.randrange(60):02}:00" for _ in range(2)]
        sources.append(
            small_talks.source(
                f"talk{number:02}",
                f"Wake me at {times[0]}.",
                (f"I have set it for {times[0]}.", [Call("AddAlarm", {"time": times[0]})]),
                "What have I got?",
                (
                    "Here they are.",
                    [Call("FindAlarms", {"start_range": times[0], "end_range": times[1]})],
                ),
                "Thanks.",
            )
        )
    return tuple(parse_conversation(each, each["name"]) for each in sources)


class Right(Oracle):
    """Knows the answers, and has tokens."""

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        return tokens(super().predict(request, on_piece))


class Wrong(Right):
    """Gets something wrong in each conversation: a value, a tool, or whether to call at all."""

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        true = super().predict(request, on_piece)
        random = Random(request.key.conversation)
        turn = random.choice([1, 3])
        if request.key.turn != turn or request.key.step or true.call is None:
            return true
        call = true.call
        name = random.choice(sorted(call.arguments))
        value = call.arguments[name]
        place = random.randrange(5)
        other = value[:place] + ("9" if place in (1, 4) else value[place]) + value[place + 1 :]
        kinds = [
            called(call.name, {**call.arguments, name: other if other != value else "23:59:59"}),
            called("DeleteAlarm", {"alarm_id": "0001-0002"}),
            replied("I cannot do that."),
            called(call.name, {}),
        ]
        return tokens(random.choice(kinds))


def play(path: Path, *models: Callable[[tuple[Conversation, ...]], Model], count: int = 50) -> Path:
    conversations = talks(count, 7)
    made = [model(conversations) for model in models]
    small_talks.play(small_talks.plan(path, *made, conversations=conversations))
    return path


@pytest.fixture(scope="module")
def flipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("paths") / "runs.sqlite", Right, Wrong)


def first_tokens(path: Path, arms: tuple[str, str]) -> Iterator[tuple[str, int, int, int | None]]:
    """Each turn of a store in which two arms wrote other tokens: the first that differs, counted from 1.

    Read by SQL alone.
    """
    query = """
        SELECT conversations.name, conversations.known_turns, turns.turn, predictions.step, token_ids
        FROM predictions JOIN turns ON predictions.turn = turns.id
        JOIN arms ON turns.arm = arms.id JOIN conversations ON turns.conversation = conversations.id
        WHERE arms.name = ?
    """
    with closing(sqlite3.connect(path)) as database:
        written = [
            {
                (name, json.loads(known).index(turn) + 1, step): json.loads(ids)
                for name, known, turn, step, ids in database.execute(query, (arm,))
            }
            for arm in arms
        ]
    seen = set()
    for name, turn, step in sorted({*written[0], *written[1]}):
        pair = [of.get((name, turn, step), []) for of in written]
        if pair[0] != pair[1] and (name, turn) not in seen:
            seen.add((name, turn))
            place = next(number for number, (one, other) in enumerate(zip_longest(*pair), 1) if one != other)
            yield name, turn, step, place if all(pair) else None


def named(path: Path, run: str, arms: tuple[str, str]) -> list[tuple[str, int, int, set[int | None]]]:
    with Runs.open(path) as runs:
        addresses = [f"{run}/{arm}" for arm in arms]
        [paths] = paths_of(runs, addresses, ComparisonOptions(across_settings=True))
    found = [(flip.conversation, flip.difference) for flip in paths.flips]
    assert all(difference for _, difference in found)
    return [
        (name, where.turn, where.steps[0], {side.token for side in where.sides})
        for name, where in found
        if where
    ]


def test_the_named_token_is_the_first_that_differs_in_40_flips(flipped: Path) -> None:
    truth = set(first_tokens(flipped, ("arm0", "arm1")))
    found = named(flipped, "abcde", ("arm0", "arm1"))
    assert len(found) >= 40
    assert [one for one in found if (*one[:3], *one[3]) not in truth] == []


@pytest.mark.slow
@pytest.mark.parametrize("other", ["q3_k_m", "q2_k"])
def test_so_it_is_in_the_flips_of_real_models(tmp_path: Path, other: str) -> None:
    path = tmp_path / "demo.sqlite"
    path.write_bytes(lzma.decompress(DEMO.read_bytes()))
    arms = "qwen2.5-coder-1.5b", f"qwen2.5-coder-1.5b-{other}"
    truth = set(first_tokens(path, arms))
    found = named(path, "82hjp", arms)
    assert found
    assert [one for one in found if (*one[:3], *one[3]) not in truth] == []


def test_the_place_is_named_with_values_and_probabilities(flipped: Path, rig: Rig) -> None:
    told = rig("compare", "abcde", "--runs", flipped, "--paths", "--across-settings", "--json").json
    [paths] = told["paths"]
    assert (paths["baseline"], paths["arm"], paths["turns"]) == ("arm0", "arm1", 100)
    assert paths["same_calls"] == 50
    assert paths["same_calls_share"] == 0.5
    whats = {flip["difference"]["what"] for flip in paths["flips"]}
    assert {"tool", "what is done", "argument `time`"} <= whats
    for flip in paths["flips"]:
        for side in flip["difference"]["sides"]:
            assert 0.2 <= side["probability"] <= 1
    only = [place for place in paths["actions"] if place["what"] == "only" and place["arm"] == "arm0"]
    assert only
    assert all(place["call"].startswith("AddAlarm") for place in only)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_both_transcripts_fit_side_by_side(flipped: Path, width: int) -> None:
    with Runs.open(flipped) as runs:
        [paths] = paths_of(runs, ["abcde"], ComparisonOptions(across_settings=True))
    for full in (False, True):
        text = paths_text(paths, width, full=full)
        assert max(map(cell_width, text.splitlines())) <= width
        assert ("more flips; --full shows all" in text) is not full
    assert "the same calls in 50 of 100 turns (50.0%), the same text in 50" in " ".join(text.split())
    assert text.count("each took its own token") == len(paths.flips) >= 40
    assert "\x1b" not in text


def step(prediction: Prediction) -> Step:
    return Step(prediction)


def turn(*predictions: Prediction) -> PlayedTurn:
    return PlayedTurn(1, tuple(map(step, predictions)))


def test_without_tokens_it_is_the_first_character_and_that_is_said() -> None:
    one, other = called("AddAlarm", {"time": "10:30:00"}), called("AddAlarm", {"time": "10:00:00"})
    found = difference(turn(one), turn(other), 3, "assistant")
    assert found is not None
    assert found.words == "turn 3, argument `time`: 10:30:00 against 10:00:00"
    assert found.chances == "no tokens were recorded"


def test_probabilities_of_both_tokens_are_printed() -> None:
    one, other = called("AddAlarm", {"time": "10:30:00"}), called("AddAlarm", {"time": "10:00:00"})
    sides = []
    for prediction, chance in ((one, 0.51), (other, 0.55)):
        made = tokens(prediction)
        sides.append(
            turn(
                replace(
                    made,
                    token_forced=(False,) * len(made.token_ids),
                    logprobs=(log(chance),) * len(made.token_ids),
                )
            )
        )
    found = difference(*sides, 3, "assistant")
    assert found is not None
    assert found.words.startswith("turn 3, argument `time`, token ")
    assert " at 0.51 against " in found.chances
    assert found.chances.endswith(" at 0.55")


def test_vocabularies_that_differ_are_compared_by_characters() -> None:
    one, other = tokens(replied("Yes, at ten.")), tokens(replied("Yes, at two."))
    other = replace(other, token_ids=tuple(token + 1000 for token in other.token_ids))
    found = difference(turn(one), turn(other), 1, "assistant")
    assert found is not None
    assert found.what == "reply"
    assert [side.start <= 9 for side in found.sides] == [True, True]
    assert found.sides[0].value == "ten."


def test_a_nested_argument_is_named_by_its_path() -> None:
    one, other = (turn(called("Plan", {"days": [{"at": 1}, {"at": last}]})) for last in (2, 3))
    found = difference(one, other, 1, "assistant")
    assert found is not None
    assert found.words == "turn 1, argument `days[1].at`: 2 against 3"


def test_equal_turns_do_not_part() -> None:
    same = turn(called("AddAlarm", {"time": "10:30:00"}))
    assert difference(same, same, 1, "assistant") is None


def test_paths_need_two_arms_and_decide_nothing(rig: Rig, tmp_path: Path) -> None:
    path = play(tmp_path / "runs.sqlite", Right, count=2)
    alone = rig("compare", "abcde", "--runs", path, "--paths")
    assert alone.code == 2
    assert "--paths compares arms, and there is one" in alone.err
    both = rig("compare", "abcde", "--runs", path, "--paths", "--fail-if-worse", "1")
    assert "--paths decides nothing" in both.err
