"""Conversations in the small world, models that answer them in many ways, and runs of both."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import small_world
import tiny_gguf

from rig.core.calls import Call
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Event
from rig.core.models import Model, Notify, Prediction, Request, Usage
from rig.core.tasks import ASSISTANT
from rig.methods.scripted import Oracle, called, failed, replied
from rig.plugins.matching.matching import Grader, Mode
from rig.plugins.screen.screening import TrueStep, true_steps
from rig.plugins.tooltalk.conversations import Conversation, User, parse_conversation
from rig.plugins.tooltalk.method import METHOD, ToolTalk
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.plugins.tooltalk.setup import ToolTalkSetup
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.running.control import Control
from rig.running.plan import Arm, Plan
from rig.running.runner import run
from rig.scoring import load
from rig.store import Runs, StoredRun
from rig.world.toolbox import Simulator
from rig.world.world import World

USER = User("mara", session_token=small_world.TOKEN)


def simulator() -> Simulator:
    """A simulator of its own small world."""
    return Simulator(small_world.new_world(), TOOLTALK)


def source(name: str, *turns: str | tuple[str, list[Call]], logged_in: bool = True) -> dict[str, Any]:
    """A conversation file: a string is said by the user, a pair is a reply and the calls before it.

    Responses are those of the simulator, so that a replay finds no difference.
    """
    acting = simulator()
    user = USER if logged_in else User("mara")
    acting.start(small_world.METADATA.now, user.username, user.credentials)
    conversation: list[dict[str, Any]] = []
    for index, turn in enumerate(turns):
        if isinstance(turn, str):
            conversation.append({"index": index, "role": "user", "text": turn})
            continue
        text, calls = turn
        entry: dict[str, Any] = {"index": index, "role": "assistant", "text": text}
        if calls:
            entry["apis"] = [acting.execute(call).as_json() for call in calls]
        conversation.append(entry)
    token = {"session_token": small_world.TOKEN} if logged_in else {}
    return {
        "name": name,
        "conversation_id": name,
        "suites_used": ["Alarm", "Reminder", "Messages", "AccountTools"],
        "apis_used": sorted({call.name for turn in turns if not isinstance(turn, str) for call in turn[1]}),
        "user": {"username": "mara", **token},
        "metadata": {
            "location": "Springfield",
            "timestamp": small_world.NOW,
            **({"username": "mara"} if logged_in else {}),
        },
        "conversation": conversation,
    }


def sources() -> list[dict[str, Any]]:
    """Three conversations: two tools that draw ids, a lookup before a change, and a login."""
    return [
        source(
            "alarms",
            "Wake me at seven.",
            ("Done.", [Call("AddAlarm", {"time": "07:00:00"})]),
            "And at eight.",
            ("Done, too.", [Call("AddAlarm", {"time": "08:00:00"})]),
            "What have I got now?",
            ("Five alarms.", [Call("FindAlarms", {"start_range": "00:00:00", "end_range": "23:59:59"})]),
            "Thanks.",
        ),
        source(
            "reminders",
            "Hello!",
            ("Hello. What can I do?", []),
            "Have I paid the rent?",
            ("Yes.", [Call("GetReminders")]),
            "Then I need to water the plants, done now.",
            ("Ticked off.", [Call("CompleteReminder", {"reminder_id": "00-0001"})]),
        ),
        source(
            "login",
            "Let me in.",
            "I am mara, pw-mara.",
            ("Welcome.", [Call("UserLogin", {"username": "mara", "password": "pw-mara"})]),
            "Drop my 7:30 alarm.",
            (
                "Gone.",
                [
                    Call("FindAlarms", {"start_range": "07:30:00", "end_range": "07:30:00"}),
                    Call("DeleteAlarm", {"alarm_id": "0001-0002"}),
                ],
            ),
            logged_in=False,
        ),
    ]


@cache
def conversations() -> tuple[Conversation, ...]:
    return tuple(parse_conversation(each, each["name"]) for each in sources())


def write(directory: Path) -> Path:
    """The conversations as files, and the small world's databases beside them in `databases`."""
    folder = directory / "conversations"
    folder.mkdir(parents=True)
    for each in sources():
        (folder / f"{each['name']}.json").write_text(json.dumps(each), encoding="utf-8")
    small_world.write(directory / "databases")
    return folder


def write_with_models(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, for rig to run there, and the tiny models `base` and `other`; returns their folder."""
    models = directory / "models"
    models.mkdir()
    monkeypatch.setenv("RIG_MODELS", str(models))
    monkeypatch.chdir(directory)
    write(directory)
    for seed, name in enumerate(("base", "other")):
        tiny_gguf.write(models / f"{name}.gguf", n_ctx=16384, seed=seed)
    return models


HOSTILE = "\x1b]0;owned\x07\x9b31m\u202ebad[/red][bold]\x00\r\nline\ud800"


def erratic(request: Request) -> Prediction:
    """What a poor model might do: a function of the step's key alone, for resuming to be put to the test."""
    key = request.key
    digest = hashlib.sha256(repr((key.conversation, key.turn, key.step, key.repeat)).encode()).digest()
    usage = Usage(
        prompt_tokens=100 + key.step, cached_tokens=90, completion_tokens=7, prefill_s=0.1, decode_s=0.2
    )
    choices = [
        called("AddAlarm", {"time": "07:00:00"}),
        called("AddAlarm", {"time": f"{digest[1] % 24:02}:00:00"}),
        called("FindAlarms", {"start_range": "00:00:00", "end_range": "23:59:59"}),
        called("GetReminders", {}),
        called("CompleteReminder", {"reminder_id": "00-0001"}),
        called("DeleteAlarm", {"alarm_id": "0001-0002"}),
        called("UserLogin", {"username": "mara", "password": "pw-mara"}),
        called("SendMessage", {"receiver": "theo", "message": HOSTILE}),
        called(HOSTILE, {HOSTILE: [HOSTILE, None, 1.5]}),
        called("AddAlarm", {"time": HOSTILE}),
        replied("All right."),
        replied(HOSTILE),
        failed(list(ErrorKind)[digest[2] % 5], f"detail {HOSTILE}", raw=HOSTILE),
    ]
    prediction = choices[digest[0] % len(choices)]
    return replace(
        prediction,
        usage=usage,
        token_ids=tuple(digest[:5]),
        logprobs=(-0.5, 0.0),
        token_chars=tuple(digest[5:10]),
        token_forced=(False, True, True, False, False),
        salvage=("", "in prose")[digest[3] % 2],
    )


def plan(store: Path, *models: Model | Callable[[Notify], Model], **choices: Any) -> Plan:
    """A plan over the three conversations, with arms arm0, arm1, …: models, or what loads them.

    The `settings` are those of every arm.
    """
    settings = choices.pop("settings", ToolTalkSettings(max_calls=3))
    arms = [
        Arm(f"arm{position}", partial(_itself, model) if hasattr(model, "predict") else model, settings)
        for position, model in enumerate(models)
    ]
    values: dict[str, Any] = {
        "run": "abcde",
        "store": store,
        "arms": tuple(arms),
        "tasks": choices.pop("conversations", None) or conversations(),
        "method": ToolTalk(),
        "setup": setup(choices.pop("grader", None), choices.pop("world", None)),
        **choices,
    }
    return Plan(**values)


def setup(matcher: Grader | None = None, world: World | None = None) -> ToolTalkSetup:
    """The small world and the default grader, with exact similarity, unless others are given."""
    made = METHOD.ready({**{option.name: option.default for option in METHOD.options}, "similarity": "exact"})
    opened = world or small_world.new_world()
    made.matcher, made._opened = matcher or grader(), (opened, opened.sha256())
    return made


def grader(mode: Mode = "default") -> Grader:
    """A grader with exact similarity."""
    return Grader(mode, load("exact"), TOOLTALK)


def true_course(conversation: Conversation, settings: ToolTalkSettings) -> list[TrueStep]:
    """What a model that is always right is asked, and answers."""
    return list(true_steps(setup(), settings, conversation, ASSISTANT, {ASSISTANT: Oracle([conversation])}))


def _itself(model: Model, _notify: Notify) -> Model:
    return model


def unloadable(_notify: Notify) -> Model:
    raise RigError("no such weights")


def oracle() -> Oracle:
    return Oracle(conversations())


def play(todo: Plan, control: Control | None = None) -> list[Event]:
    """Run a plan and give its events."""
    events: list[Event] = []
    run(todo, events.append, control or Control())
    return events


def stored(store: Path, run: str = "abcde") -> StoredRun:
    with Runs.open(store) as runs:
        return runs.get(run)


def wait_for(store: Path, turns: int, patience_s: float = 60.0) -> None:
    """Return when another thread or process has stored so many turns of the run abcde."""
    deadline = time.monotonic() + patience_s
    done = 0
    while done < turns:
        assert time.monotonic() < deadline, f"{done} of {turns} turns are stored"
        time.sleep(0.05)
        # Before its first turn the store, its tables and the run in it come one after the other.
        with suppress(RigError):
            done = stored(store).turns_done if store.exists() else 0


TIMES = frozenset(
    {
        "wall_s",
        "cpu_s",
        "tools_s",
        "scoring_s",
        "store_s",
        "load_s",
        "finished",
        "created",
        "heartbeat",
        "writer",
    }
    | {"display_s", "peak_memory", "peak_device_memory", "energy_j"}
)


def content(
    store: Path, tables: Sequence[str] = ("arms", "conversations", "turns", "predictions", "scores")
) -> Any:
    """All rows of these tables but what was measured, for comparing runs."""
    from rig.store.connect import connect_for_reading

    with connect_for_reading(store) as database:
        return {
            table: [
                {name: value for name, value in row.items() if name not in TIMES}
                for row in database.query(f"SELECT * FROM {table} ORDER BY id")
            ]
            for table in tables
        }


def answers(path: Path) -> Any:
    """What is stored of turns and scores, without ids and times, in whatever order it was stored."""
    left_out = {"id", "turn", "arm", "conversation"}
    rows = content(path, ("turns", "predictions", "scores"))
    return {
        table: sorted(
            json.dumps({name: value for name, value in row.items() if name not in left_out})
            for row in rows[table]
        )
        for table in rows
    }
