"""Many small conversations, and models of which it is known what they get right."""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import small_talks

from rig.core.calls import Call, JsonObject
from rig.core.models import Prediction, Request, Usage
from rig.methods.scripted import Oracle, Scripted, called, replied
from rig.plugins.tooltalk.conversations import Conversation, parse_conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.plan import Arm
from rig.store import Runs, StoredRun


@cache
def conversations(number: int) -> tuple[Conversation, ...]:
    """talk00, talk01, …: two turns, each with an alarm to be set."""
    return tuple(_conversation(f"talk{each:02}", each) for each in range(number))


def _conversation(name: str, hour: int) -> Conversation:
    source = small_talks.source(
        name,
        f"Wake me at {hour % 24}.",
        ("Done.", [Call("AddAlarm", {"time": f"{hour % 24:02}:10:00"})]),
        "And half an hour later.",
        ("Done, too.", [Call("AddAlarm", {"time": f"{hour % 24:02}:40:00"})]),
    )
    return replace(parse_conversation(source, name), suite="easy" if hour % 2 else "hard")


def model(
    number: int,
    wrong: Collection[int | tuple[int, int]] = (),
    *,
    acts: bool = False,
    fingerprint: JsonObject | None = None,
) -> Scripted:
    """A model that is wrong in the second turn of these conversations, or (conversation, repeat).

    It does nothing there, or with `acts` sets another alarm.
    """
    right = Oracle(conversations(number))

    def script(request: Request) -> Prediction:
        key = request.key
        place = int(key.conversation.removeprefix("talk"))
        usage = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10, prefill_s=0.1, decode_s=0.2)
        if key.turn == 3 and (place in wrong or (place, key.repeat) in wrong):
            does = acts and key.step == 0
            prediction = called("AddAlarm", {"time": "23:59:00"}) if does else replied("No.")
        else:
            prediction = right.predict(request, lambda _: None)
        return replace(prediction, usage=usage)

    return Scripted(script, fingerprint={"file_sha256": "0", **(fingerprint or {})})


def play(
    store: Path,
    *models: Scripted,
    number: int,
    settings: Sequence[ToolTalkSettings] = (),
    names: Sequence[str] = (),
    **choices: Any,
) -> StoredRun:
    """Play these models as the arms of one run and give the run. `settings` and `names` are the arms'."""
    arms = tuple(
        Arm(
            names[place] if names else f"arm{place}",
            lambda _, model=each: model,  # type: ignore[misc]
            settings[place] if settings else ToolTalkSettings(max_calls=3),
        )
        for place, each in enumerate(models)
    )
    run = choices.pop("run", "abcde")
    choices.setdefault("conversations", conversations(number))
    small_talks.play(small_talks.plan(store, arms=arms, run=run, **choices))
    with Runs.open(store) as runs:
        return runs.get(run)


def forget(store: Path, arm: int, conversations: Collection[int], repeats: Collection[int] = (0,)) -> None:
    """Delete what an arm played of these conversations, as if it had been interrupted."""
    cells = "repeat = ? AND arm = (SELECT id FROM arms WHERE position = ?)"
    of = "conversation = (SELECT id FROM conversations WHERE name = ?)"
    rows = [(repeat, arm, f"talk{each:02}") for each in conversations for repeat in repeats]
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("PRAGMA foreign_keys = ON")
        for table in ("scores", "turns"):
            database.executemany(f"DELETE FROM {table} WHERE {cells} AND {of}", rows)
