"""τ²-bench with a user who talks: who says and calls what, how it ends, and what it is worth."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from killed_runs import kill_at_every_event, messages
from tau2_checkout import write_checkout

from rig.cli import main
from rig.core.calls import Call
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Where
from rig.core.models import CallMessage, Model, Prediction, ReplyMessage, Request, ToolDoc, UserMessage
from rig.core.tasks import ASSISTANT
from rig.methods.episode import course
from rig.methods.scripted import Scripted, called, failed, replied
from rig.plugins.tau2.checkout import domain
from rig.plugins.tau2.customers import (
    CAUTION,
    DONE,
    METHOD,
    THE_USER,
    CustomerTalk,
    first_person,
    named_calls,
)
from rig.plugins.tau2.method import METHOD as SOLO_METHOD
from rig.plugins.tau2.method import MOST_ERRORS, MOST_MESSAGES
from rig.plugins.tau2.tickets import CustomerTask

SCENARIO = {
    "persona": None,
    "instructions": {
        "domain": "mock",
        "reason_for_call": "Your lamp is dark, and you want it on.",
        "known_info": "You are Ann Lee.",
        "unknown_info": "You do not know the wattage.",
        "task_instructions": "Be brief.",
    },
}
LIGHT = {"name": "light", "arguments": {"on": True}}
PRESS = {"name": "press", "arguments": {}, "requestor": "user"}


def row(name: str, actions: list[Any], **criteria: Any) -> dict[str, Any]:
    return {
        "id": name,
        "user_scenario": SCENARIO,
        "evaluation_criteria": {"actions": actions, "reward_basis": ["DB"], **criteria},
    }


BOTH = ["DB", "COMMUNICATE"]
TASKS = [
    row("agent", [LIGHT]),
    row("both", [PRESS, LIGHT, PRESS]),
    row("words", [LIGHT], reward_basis=BOTH, communicate_info=["Forty 2"]),
    row("nothing", [], reward_basis=["DB", "NL_ASSERTION"], nl_assertions=[]),
    row("person", [{**PRESS, "name": "transfer_to_human_agents", "requestor": "assistant"}]),
]
LEFT_OUT = {
    "it needs a judge": row("1", [], reward_basis=["DB", "NL_ASSERTION"], nl_assertions=["is polite"]),
    "the middle of a conversation": {**row("2", []), "initial_state": {"message_history": [{}]}},
    "nothing in it can be judged": row("3", [], reward_basis=["ACTION"]),
    "user_scenario": {"id": "4", "evaluation_criteria": {}},
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIG_TAU2", str(tmp_path))
    return write_checkout(tmp_path, [*TASKS, *LEFT_OUT.values()])


def customers(checkout: Path) -> dict[str, CustomerTask]:
    return {task.name: task for task in METHOD.load(checkout)}


def talk(task: CustomerTask, **players: Model) -> CustomerTalk:
    setup = METHOD.ready({option.name: option.default for option in METHOD.options})
    episode = METHOD.episode(setup, task, setup.settings, Where(0, task.name), lambda _event: None, 0)
    assert isinstance(episode, CustomerTalk)
    models = METHOD.models([task])
    default = {ASSISTANT: "oracle", THE_USER: "knowing"}
    for _ in course(episode, {role: players.get(role) or models[name]() for role, name in default.items()}):
        pass
    return episode


def in_order(*answers: Prediction) -> Model:
    left = iter(answers)
    return Scripted(lambda _request: next(left))


def counts(task: CustomerTask, **players: Model) -> Mapping[str, float]:
    return talk(task, **players).score().counts


def test_tasks_are_those_that_need_no_judge(checkout: Path) -> None:
    loaded = METHOD.load(checkout)
    assert [task.name for task in loaded] == [task["id"] for task in TASKS]
    assert {task.suite for task in loaded} == {"mock tasks, with a user"}
    for fault, reason in zip(loaded.faults, LEFT_OUT, strict=True):
        assert reason in fault
    again = [METHOD.parse(task.source, "here", task.suite) for task in loaded]
    assert again == list(loaded)
    with pytest.raises(RigError, match="does not play its domain with a user"):
        METHOD.parse({**loaded[0].source, "domain": "bank"}, "here", "x")


def test_a_folder_is_of_the_method_that_can_play_it(checkout: Path) -> None:
    assert SOLO_METHOD.recognises(checkout)
    assert not METHOD.recognises(checkout)
    retail = checkout.rename(checkout.with_name("retail"))
    assert METHOD.recognises(retail)
    assert not SOLO_METHOD.recognises(retail)


def test_two_who_know_earn_the_reward_and_the_idle_their_floor(checkout: Path) -> None:
    for name, task in customers(checkout).items():
        assert counts(task)["success"] == 1, name
        idle = counts(task, assistant=METHOD.models([task])["idle"]())
        assert idle["success"] == idle["idle"] == (name in ("nothing", "person")), name


def test_the_two_act_in_one_world_by_turns(checkout: Path) -> None:
    episode = talk(customers(checkout)["both"])
    assert [
        [(step.role, step.prediction.call.name if step.prediction.call else "words") for step in turn.steps]
        for turn in episode.played
    ] == [
        [("user", "words"), ("assistant", "words")],
        [("user", "press"), ("user", "words"), ("assistant", "light"), ("assistant", "words")],
        [("user", "press"), ("user", "words"), ("assistant", "words")],
        [("user", "words")],
    ]
    assert [verdict.match for verdict in episode.score().verdicts] == [True, True, True]


def test_each_has_their_own_tools_and_hears_only_what_is_said(checkout: Path) -> None:
    task, requests = customers(checkout)["both"], list[Request]()
    models = METHOD.models([task])
    oracle, user = models["oracle"](), models["knowing"]()

    def noted(model: Model) -> Model:
        return Scripted(lambda request: requests.append(request) or model.predict(request, lambda _: None))

    talk(task, assistant=noted(oracle), user=noted(user))
    of_user, of_agent = requests[-1], requests[-2]
    assert {tool.name for tool in of_user.tools} == {"press"}
    assert "press" not in {tool.name for tool in of_agent.tools}
    assert "With a user." in of_agent.instructions
    assert "lamp" not in of_agent.instructions
    for part in ("Your lamp is dark", "You are Ann Lee", "the wattage", "Be brief"):
        assert part in of_user.context
    assert [m.call.name for m in of_agent.messages if isinstance(m, CallMessage)] == ["light"]
    assert [m.call.name for m in of_user.messages if isinstance(m, CallMessage)] == ["press", "press"]
    said = [m.text for m in of_agent.messages if isinstance(m, ReplyMessage)]
    assert [m.text for m in of_user.messages if isinstance(m, UserMessage)][1:] == [
        *said,
        "Everything is settled.",
    ]


def test_a_call_of_the_others_tool_fails(checkout: Path) -> None:
    agent = in_order(called("press"), called("light", {"on": True}), replied("It is on."))
    ended = counts(customers(checkout)["agent"], assistant=agent)
    assert (ended["success"], ended["errors"]) == (1, 1)


def test_only_the_agents_writes_are_its_unneeded_actions(checkout: Path) -> None:
    user = in_order(replied("Hello."), called("press"), replied(DONE))
    agent = in_order(called("light", {"on": False}), replied("Now?"))
    ended = counts(customers(checkout)["agent"], assistant=agent, user=user)
    assert (ended["success"], ended["unneeded"], ended["calls"]) == (0, 1, 2)


@pytest.mark.parametrize(
    ("words", "is_told"), [("It is FORTY, 2.", 1), ("Forty", 0), ("forty 2", 1), ("Fort,y 2", 1)]
)
def test_words_that_are_due_are_looked_for_as_upstream_does(checkout: Path, words: str, is_told: int) -> None:
    agent = in_order(called("light", {"on": True}), replied(words))
    assert counts(customers(checkout)["words"], assistant=agent)["success"] == is_told


def test_words_beside_a_call_count_as_said(checkout: Path) -> None:
    beside = replace(called("light", {"on": True}), content="forty 2")
    agent = in_order(beside, replied("Yes."))
    assert counts(customers(checkout)["words"], assistant=agent)["success"]


def test_the_customers_own_words_do_not_count(checkout: Path) -> None:
    user = in_order(replied("forty 2"), replied(DONE))
    agent = in_order(called("light", {"on": True}), replied("Yes."))
    assert not counts(customers(checkout)["words"], assistant=agent, user=user)["success"]


@pytest.mark.parametrize(
    ("players", "ending", "is_users"),
    [
        ({"user": [failed(ErrorKind.TRUNCATED)]}, "the user failed", 1),
        ({"assistant": [failed(ErrorKind.TRUNCATED)]}, "no answer", 0),
        ({"assistant": [called("nope")] * MOST_ERRORS}, "too many errors", 0),
        ({"assistant": [called("look")] * MOST_MESSAGES}, "too many steps", 0),
        ({"assistant": [replied("?")] * MOST_MESSAGES, "user": [replied("a")] * MOST_MESSAGES}, "steps", 0),
        ({"user": [called("press")] * MOST_MESSAGES}, "too many steps", 0),
    ],
)
def test_only_the_customer_ends_it_with_success(
    checkout: Path, players: dict[str, list[Prediction]], ending: str, is_users: int
) -> None:
    models = {role: in_order(*answers) for role, answers in players.items()}
    score = talk(customers(checkout)["nothing"], **models).score()
    assert (score.counts["success"], score.counts["user_failed"]) == (0, is_users)
    assert ending in score.faults[0].text


def test_a_vandal_leaves_nothing_to_the_next_trial(checkout: Path) -> None:
    task, place = customers(checkout)["both"], str(checkout.parents[3])
    before = domain(place, "mock", "manual", False).world().hashes()
    calls = [called("light", {"on": False})] * 30
    user = in_order(*[called("press")] * 30, replied("Hm."), replied(DONE))
    assert not counts(task, assistant=in_order(*calls, replied("Ha.")), user=user)["success"]
    assert domain(place, "mock", "manual", False).world().hashes() == before
    assert counts(task)["success"]


def test_a_resumed_talk_is_worth_what_it_was(checkout: Path) -> None:
    task = customers(checkout)["both"]
    episode = talk(task)
    assert episode.setup.score(task, episode.played, episode.settings) == episode.score()
    again = METHOD.episode(episode.setup, task, episode.settings, Where(0, task.name), lambda _event: None, 0)
    for turn in episode.played[:2]:
        again.resume(turn)
    models = METHOD.models([task])
    for _ in course(again, {ASSISTANT: models["oracle"](), THE_USER: models["knowing"]()}):
        pass
    assert [replace(turn, wall_s=0, tools_s=0, scoring_s=0).steps for turn in again.played] == [
        turn.steps for turn in episode.played
    ]
    assert again.score() == episode.score()


def test_the_scripted_customer_calls_what_is_named() -> None:
    names = ("toggle_data", "toggle_data_saver_mode", "grant_app_permission")
    tools = [ToolDoc(name, "", {"type": "object", "properties": {}}) for name in names]
    text = 'Toggle your data saver mode, then `grant_app_permission({"app": "x"})` and toggle_data {broken.'
    assert named_calls(text, tools) == [
        *(Call("toggle_data_saver_mode", {}), Call("grant_app_permission", {"app": "x"})),
        Call("toggle_data", {}),
    ]
    assert named_calls(text, []) == []


def test_the_scripted_customer_tells_what_they_know_and_ends() -> None:
    assert first_person("You are Ann, and your lamp broke yourself.") == "I am Ann, and my lamp broke myself."


def test_a_customer_who_is_asked_answers_once_from_what_they_know(checkout: Path) -> None:
    task = customers(checkout)["agent"]
    said = ["Your name?", "Your wattage?", "Really?"]
    episode = talk(task, assistant=in_order(*map(replied, said)))
    words = [step.prediction.reply for turn in episode.played for step in turn.steps if step.role == THE_USER]
    assert words == [
        "My lamp is dark, and I want it on. I am Ann Lee.",
        "I am Ann Lee.",
        "I don't know that.",
        DONE,
    ]


def test_a_run_needs_a_user_and_says_what_it_is_not(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = str(checkout / "runs.sqlite")
    options = ("--method", "tau2-user", "--suite", str(checkout), "--runs", runs, "--display", "none")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["run", "oracle", *options])
    assert "who plays the user?" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["run", "oracle", "idle", "hand-over", "--user", "scripted", "--repeats", "2", *options])
    capsys.readouterr()
    for verb, text in (("show", "success of doing nothing"), ("compare", "pass^2")):
        with suppress(SystemExit):
            main([verb, "latest", "--runs", runs])
        shown = capsys.readouterr().out
        assert CAUTION in shown
        assert text in shown


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    options = ("--method", "tau2-user", "--suite", str(checkout), "--user", "scripted", "--display", "none")
    stores = kill_at_every_event(folder, "run", "oracle", *options, "--only", "both", step=3)
    whole = messages(stores[-1])
    assert len(stores) > 3
    assert {role for *_, role, _kind, _raw, _tool, _arguments in whole} == {ASSISTANT, THE_USER}
    for store in stores[:-1]:
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["run", "--resume", "latest", "--runs", str(store), "--display", "none"])
        assert messages(store) == whole


PUBLIC = Path(os.environ.get("RIG_TAU2", "none"))
DOMAINS = next(
    (p for p in (PUBLIC / "data/tau2/domains", PUBLIC / "tau2/data/tau2/domains") if p.is_dir()), None
)


@pytest.mark.skipif(DOMAINS is None, reason="RIG_TAU2 names no checkout of tau2-bench")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["telecom/tasks_small.json", "retail", "airline"])
def test_truths_of_upstreams_tasks_earn_their_reward(name: str) -> None:
    assert DOMAINS is not None
    tasks = METHOD.load(DOMAINS / name)
    for task in tasks if "telecom" in name else tasks[::8]:
        assert counts(task)["success"] == 1, task.name
        idle = counts(task, assistant=METHOD.models([task])["idle"]())
        assert idle["success"] == idle["idle"], task.name
    assert json.dumps([task.source for task in tasks])
