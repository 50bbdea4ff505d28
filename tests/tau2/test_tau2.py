"""τ²-bench's tickets: the protocol of solo mode, the reward, and the code of a checkout that is run for it.

The checkout of these tests is a small one of our own in the same shape. Upstream's own classes are used where
RIG_TAU2 names a checkout of them.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from public_data import public
from tau2_checkout import write_checkout

from rig.cli import main
from rig.config.options import RunConfig
from rig.core.calls import Call
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Where
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn
from rig.methods.episode import course
from rig.methods.scripted import Scripted, called, failed, replied
from rig.plugins.tau2 import checkout as checkouts
from rig.plugins.tau2.checkout import domain, parse_docstring
from rig.plugins.tau2.method import METHOD, MOST_ERRORS, MOST_MESSAGES, Solo
from rig.plugins.tau2.tickets import Action, Ticket
from rig.running.planning import method_arms


def row(name: str, **parts: Any) -> dict[str, Any]:
    criteria = {"actions": [{"name": "light", "arguments": {"on": True}}], **parts.pop("criteria", {})}
    return {"id": name, "ticket": "The lamp is off.", "evaluation_criteria": criteria, **parts}


LAMP = {"env_type": "assistant", "func_name": "assert_lamp", "arguments": {"on": True}}
PRESSED = {
    "env_type": "user",
    "func_name": "assert_presses",
    "arguments": {"count": -2},
    "assert_value": False,
}
PERSON = {"name": "transfer_to_human_agents", "arguments": {"summary": "x"}, "compare_args": []}
TASKS = [
    row("[lamp]db"),
    row("[lamp]assertion", criteria={"env_assertions": [LAMP], "reward_basis": ["ENV_ASSERTION"]}),
    row(
        "[knob]prepared",
        initial_state={
            "initialization_data": {"agent_data": {"lamp": True}},
            "initialization_actions": [
                {"env_type": "user", "func_name": "break_knob", "arguments": {"times": 2}}
            ],
        },
        criteria={
            "actions": [{"name": "press", "arguments": {}, "requestor": "user"}],
            "env_assertions": [PRESSED],
            "reward_basis": ["DB", "ENV_ASSERTION", "ACTION"],
        },
    ),
    row(
        "[lamp]person",
        criteria={
            "actions": [PERSON],
            "reward_basis": ["DB", "ACTION"],
        },
    ),
]
LEFT_OUT = {
    "it has no ticket": row("1", ticket=None),
    "the middle of a conversation": row("2", initial_state={"message_history": [{"role": "user"}]}),
    "it needs a judge": row("3", criteria={"reward_basis": ["DB", "NL_ASSERTION"]}),
    "it needs words to a user": row("4", criteria={"communicate_info": ["x"]}),
    "nothing in it can be judged": row("5", criteria={"actions": None}),
    "evaluation_criteria": {"id": "6", "ticket": "x"},
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = write_checkout(tmp_path, [*TASKS, *LEFT_OUT.values()])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIG_TAU2", str(tmp_path))
    return data


def tickets(checkout: Path) -> dict[str, Ticket]:
    return {task.name: task for task in METHOD.load(checkout)}


def played(task: Ticket, *answers: Prediction) -> Solo:
    """An episode in which the agent answers with these, in order."""
    values = {option.name: option.default for option in METHOD.options}
    setup = METHOD.ready(values)
    episode = Solo(setup, task, setup.settings, Where(0, task.name), lambda _event: None, 0)
    left = iter(answers)
    for _ in course(episode, {"assistant": Scripted(lambda _request: next(left))}):
        pass
    return episode


def success(task: Ticket, *calls: Call | Prediction) -> bool:
    answers = (c if isinstance(c, Prediction) else called(c.name, c.arguments) for c in calls)
    return bool(played(task, *answers, called("done")).score().counts["success"])


@pytest.mark.slow
def test_a_thousand_wrong_calls_beside_a_thousand_true_ones_take_little(checkout: Path) -> None:
    due = tuple(Action(name="light", arguments={"on": number}) for number in range(1000))
    task = tickets(checkout)["[lamp]db"]
    task = replace(task, criteria=task.criteria.model_copy(update={"actions": due}))
    wrong = [Call("light", {"on": -number}) for number in range(1, 1001)]
    messages = [
        replace(called("light", dict(first.arguments)), further=tuple(more))
        for first, *more in (wrong[number : number + 25] for number in range(0, 1000, 25))
    ]
    begun = process_time()
    episode = played(task, *messages, called("done"))
    assert len(episode.calls) == 1001
    assert episode.score().counts["success"] == 0
    assert process_time() - begun < 20


ON, OFF = Call("light", {"on": True}), Call("light", {"on": False})


def test_tasks_of_a_folder_are_those_that_need_neither_user_nor_judge(checkout: Path) -> None:
    loaded = METHOD.load(checkout)
    assert [task.name for task in loaded] == [task["id"] for task in TASKS]
    assert {task.suite for task in loaded} == {"mock tasks"}
    for fault, reason in zip(loaded.faults, LEFT_OUT, strict=True):
        assert reason in fault
        assert "\n" not in fault


def test_a_folder_stands_for_its_split_base_and_a_file_for_all_of_it(checkout: Path) -> None:
    (checkout / "split_tasks.json").write_text(json.dumps({"base": ["[lamp]db"], "full": []}))
    assert [(task.name, task.suite) for task in METHOD.load(checkout)] == [("[lamp]db", "mock base")]
    assert len(METHOD.load(checkout / "tasks.json")) == len(TASKS)
    with pytest.raises(RigError, match="no folder of a domain"):
        METHOD.load(checkout.parent)
    (checkout / "tasks.json").write_text("{}")
    with pytest.raises(RigError, match="not a list of objects"):
        METHOD.load(checkout)


def test_the_truth_earns_the_reward_and_nothing_does_not(checkout: Path) -> None:
    for task in tickets(checkout).values():
        truth = [call.call for call in task.expected(0).calls[:-1]]
        assert success(task, *truth), task.name
        assert not success(task), task.name


def test_the_reward_is_the_product_of_what_the_basis_names(checkout: Path) -> None:
    tasks = tickets(checkout)
    assert not success(tasks["[lamp]db"], ON, ON)  # the database remembers both
    assert success(tasks["[lamp]assertion"], OFF, ON, ON)
    assert not success(tasks["[lamp]assertion"], ON, OFF)
    assert success(tasks["[lamp]person"], Call("transfer_to_human_agents", {"summary": "anything"}))
    assert not success(tasks["[knob]prepared"], Call("press"), Call("press"))


def test_an_assertion_that_fails_to_answer_does_not_hold(checkout: Path) -> None:
    for name in ("assert_nothing", "assert_text", "_hidden", "no_such"):
        criteria = {
            "env_assertions": [{"env_type": "assistant", "func_name": name}],
            "reward_basis": ["ENV_ASSERTION"],
        }
        task = METHOD.parse({**row("1", criteria=criteria), "domain": "mock"}, "here", "mock")
        score = played(task, called("light", {"on": True}), called("done")).score()
        assert not score.counts["success"]
        assert name in score.faults[0].text


@pytest.mark.parametrize(
    ("action", "arguments", "is_made"),
    [
        ({}, {}, True),
        ({"a": 1}, {}, True),  # only the arguments of the call are compared
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "compare_args": []}, {"a": 2}, True),
        ({"a": 1, "b": 2, "compare_args": ["b"]}, {"a": 9, "b": 2}, True),
        ({"a": 1, "b": 2, "compare_args": ["b"]}, {"a": 1}, False),
    ],
)
def test_calls_are_compared_with_actions_as_upstream_does(
    action: dict[str, Any], arguments: dict[str, Any], is_made: bool
) -> None:
    compared = action.pop("compare_args", None)
    assert (
        Action(name="x", arguments=action, compare_args=compared).is_made_by(Call("x", arguments)) is is_made
    )
    assert not Action(name="y", arguments=action, compare_args=compared).is_made_by(Call("x", arguments))


def test_done_stands_alone(checkout: Path) -> None:
    beside = Prediction(raw="", call=ON, further=(Call("done", {}),))
    episode = played(tickets(checkout)["[lamp]db"], beside)
    assert [step.prediction.call.name for step in episode.played[0].steps if step.prediction.call] == ["done"]
    assert not episode.score().counts["success"]


def test_several_calls_of_a_message_are_made_in_order(checkout: Path) -> None:
    assert success(tickets(checkout)["[lamp]assertion"], Prediction(raw="", call=OFF, further=(ON,)))


@pytest.mark.parametrize(
    ("answers", "ending"),
    [
        ([called("light", {"on": True}), replied("It is on.")], "no call"),
        ([called("light", {"on": True}), failed(ErrorKind.TRUNCATED)], "truncated"),
        ([called("nope")] * MOST_ERRORS + [called("done")], "too many errors"),
        (
            [called("light", {"on": True})] + [called("look")] * MOST_MESSAGES + [called("done")],
            "too many steps",
        ),
    ],
)
def test_only_done_ends_with_success(checkout: Path, answers: Sequence[Prediction], ending: str) -> None:
    score = played(tickets(checkout)["[lamp]assertion"], *answers).score()
    assert not score.counts["success"]
    assert ending in score.faults[0].text


def test_done_as_the_hundredth_message_counts(checkout: Path) -> None:
    looks = [called("look")] * (MOST_MESSAGES - 2)
    assert success(tickets(checkout)["[lamp]assertion"], ON, *looks)


def test_calls_are_judged_by_the_truth_and_by_what_they_change(checkout: Path) -> None:
    score = played(
        tickets(checkout)["[lamp]assertion"],
        *(called("look"), called("light", {"on": False}), called("light", {"on": True}), called("nope")),
        called("done"),
    ).score()
    assert [(verdict.match, verdict.bad_action) for verdict in score.verdicts] == [
        *((False, False), (False, True), (True, False), (False, False), (True, False))
    ]
    assert (score.counts["errors"], score.counts["unneeded"], score.counts["calls"]) == (1, 1, 5)


def test_a_vandal_leaves_nothing_to_the_next_trial(checkout: Path) -> None:
    task = tickets(checkout)["[lamp]db"]
    before = domain(str(checkout.parents[3]), "mock", "manual").world().hashes()
    vandal = [called(name, arguments) for name, arguments in (("light", {"on": 5}), ("press", {})) * 40]
    played(task, *vandal, called("done"))
    assert domain(str(checkout.parents[3]), "mock", "manual").world().hashes() == before
    assert success(task, ON)


def test_data_is_merged_into_the_database(checkout: Path) -> None:
    start = {"initialization_data": {"agent_data": {"room": {"door": 3}}}}
    task = METHOD.parse({**row("1", initial_state=start), "domain": "mock"}, "here", "mock")
    world = task.begin(domain(str(checkout.parents[3]), "mock", "manual"))
    assert world._kit("assistant").db["room"] == {"window": 1, "door": 3}


def test_where_nothing_is_to_be_written_an_idle_agent_succeeds(checkout: Path) -> None:
    task = METHOD.parse({**row("1", criteria={"actions": []}), "domain": "mock"}, "here", "mock")
    assert success(task)
    assert not success(task, ON)


def test_the_checkout_sets_up_the_task(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions differ in where the two databases are after initial data for one of them."""
    place = domain(str(checkout.parents[3]), "mock", "manual")

    def at_one_object(
        environment: Any, initialization_data: Any, initialization_actions: Any, message_history: Any
    ) -> None:
        environment.tools.update_db(initialization_data.agent_data)
        environment.user_tools.db = environment.tools.db

    monkeypatch.setattr(type(place.pristine), "set_state", at_one_object)
    start = {"initialization_data": {"agent_data": {"lamp": True}}}
    task = METHOD.parse({**row("1", initial_state=start), "domain": "mock"}, "here", "mock")
    world = task.begin(place)
    assert world._kit("user").db is world._kit("assistant").db
    assert world._kit("user").db["lamp"] is True


def test_loading_a_domain_leaves_no_trace_in_the_process(checkout: Path) -> None:
    modules, variables = set(sys.modules), dict(os.environ)
    place = domain(str(checkout.parents[3]), "mock", "manual")
    assert place.policy == "Lamps are to be on."
    assert {"light", "press", "hang"} == place.writes
    assert dict(os.environ) == variables
    assert not {name for name in set(sys.modules) - modules if name.startswith(("tau2", "toml", "dotenv"))}


def test_what_a_domain_consists_of_is_in_the_fingerprint(checkout: Path) -> None:
    values = {option.name: option.default for option in METHOD.options}
    fingerprints = set()
    for text in ("Lamps are to be on.", "Lamps are to be off."):
        (checkout / "policy_solo.md").write_text(text)
        checkouts._domain.cache_clear()
        fingerprints.add(json.dumps(METHOD.ready(values).fingerprint))
    assert len(fingerprints) == 2


def test_a_tool_that_hangs_or_exits_fails_alone(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkouts, "LIMIT_S", 0.2)
    answers = called("hang"), called("leave"), called("look"), called("light", {"on": True}), called("done")
    episode = played(tickets(checkout)["[lamp]db"], *answers)
    texts = [str(executed.outcome.response) for executed in episode.played[0].executed]
    assert texts[0] == "Error: did not finish within 0.2 s"
    assert texts[1] == "Error: 3"
    assert episode.score().counts["success"]
    assert capsys.readouterr() == ("", "")


def test_arguments_that_are_no_object_are_an_error_of_the_call(checkout: Path) -> None:
    episode = played(tickets(checkout)["[lamp]db"], called("light", [1]), called("done"))
    assert episode.score().counts["errors"] == 1


def test_a_resumed_episode_is_worth_what_it_was(checkout: Path) -> None:
    task = tickets(checkout)["[lamp]assertion"]
    episode = played(task, called("light", {"on": True}), called("nope"), called("done"))
    turns: list[PlayedTurn] = episode.played
    again = episode.setup.score(task, turns, episode.settings)
    assert again == episode.score()


def test_errors_are_said_in_a_line(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RigError, match="no checkout of tau2-bench"):
        domain(str(checkout), "mock", "manual")
    with pytest.raises(RigError, match="holds no domain airline"):
        domain(str(checkout.parents[3]), "airline", "manual")
    with pytest.raises(RigError, match="policy=x: takes one of manual, workflow, not 'x'"):
        method_arms(RunConfig.of(models=("oracle",), set=("policy=x",)), METHOD)
    task = METHOD.parse(
        {
            **row("1", initial_state={"initialization_actions": [{**LAMP, "func_name": "no_such"}]}),
            "domain": "mock",
        },
        "here",
        "mock",
    )
    with pytest.raises(RigError, match="cannot set up the task"):
        played(task, called("done"))
    monkeypatch.delenv("RIG_TAU2")
    with pytest.raises(RigError, match="--set code=DIR"):
        played(tickets(checkout)["[lamp]db"], called("done"))


def test_a_run_shows_the_floor_that_handing_over_reaches(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = str(checkout / "runs.sqlite")
    options = ("--suite", str(checkout), "--runs", runs, "--display", "none")
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["run", "oracle", "hand-over", *options])
    capsys.readouterr()
    main(["show", "latest", "--runs", runs])
    shown = capsys.readouterr().out
    for text in ("100.0%", "25.0%", "handing every ticket over"):
        assert text in shown


def test_a_task_whose_truth_fails_is_found_counted_apart_and_left_out(
    rig: Callable[..., Any], checkout: Path
) -> None:
    never = {"env_assertions": [{**LAMP, "assert_value": False}], "reward_basis": ["ENV_ASSERTION"]}
    wrong = row("update_task_with_user_tools", criteria=never)
    (checkout / "tasks.json").write_text(json.dumps([TASKS[0], wrong]))
    checked = rig("check", checkout)
    assert (checked.code, checked.out.splitlines()) == (
        1,
        [
            "update_task_with_user_tools: assertion: assert_lamp(on=True) is True",
            f"{checkout}: 2 tasks, 1 fault",
        ],
    )
    [arm] = rig("run", "oracle", "--suite", checkout, "--display", "none", "--json").json["arms"]
    assert (arm["success"], arm["sound_mock tasks"]) == (0.5, 1.0)
    assert re.search(r"success, without 1 known to be wrong +100\.0%", rig("show", "latest").out)
    without = "--without", "defects", "--display", "none", "--json"
    [arm] = rig("run", "oracle", "--suite", checkout, *without).json["arms"]
    assert (arm["success"], "sound_mock tasks" in arm) == (1.0, False)


def test_docstrings_are_read_as_docstring_parser_does() -> None:
    doc = parse_docstring(
        """First line.

        More of it,
        on two lines.

        Args:
            one: The first,
                which goes on.
            two (str): The second: with a colon.

        Returns:
            Something.
        """
    )
    assert doc.short_description == "First line."
    assert doc.long_description == "More of it,\non two lines."
    assert [(part.arg_name, part.type_name, part.description) for part in doc.params] == [
        ("one", None, "The first,\nwhich goes on."),
        ("two", "str", "The second: with a colon."),
    ]


PUBLIC, with_upstream = public("RIG_TAU2")


def upstream(name: str) -> Path:
    inside = "data/tau2/domains"
    return next(p / name for p in (PUBLIC / inside, PUBLIC / "tau2" / inside) if p.is_dir())


def solved(task: Ticket, *calls: tuple[str, dict[str, Any]]) -> tuple[bool, int]:
    episode = played(task, *(called(name, arguments) for name, arguments in calls), called("done"))
    counts = episode.score().counts
    return bool(counts["success"]), int(counts["errors"])


@with_upstream
@pytest.mark.slow
def test_the_vectors_of_upstreams_own_classes() -> None:
    small = {task.name: task for task in METHOD.load(upstream("telecom") / "tasks_small.json")}
    roaming = small["[mobile_data_issue]user_abroad_roaming_enabled_off[PERSONA:None]"]
    toggle = ("toggle_roaming", {})
    assert solved(roaming, toggle) == (True, 0)
    assert solved(roaming) == (False, 0)
    assert solved(roaming, toggle, toggle) == (False, 0)
    assert solved(roaming, ("toggle_roaming", {"on": True})) == (False, 1)
    assert solved(roaming, ("nope", {}), toggle) == (True, 1)
    bill = small["[service_issue]overdue_bill_suspension[PERSONA:Easy]"]
    truth = [
        ("send_payment_request", {"customer_id": "C1001", "bill_id": "B1234321"}),
        ("make_payment", {}),
        ("resume_line", {"customer_id": "C1001", "line_id": "L1002"}),
        ("reboot_device", {}),
    ]
    assert solved(bill, *truth)[0]
    assert not any(solved(bill, *truth[:at], *truth[at + 1 :])[0] for at in range(4))
    assert not solved(bill, *truth[::-1])[0]
    refuel = ("refuel_data", {"customer_id": "C1001", "line_id": "L1002", "gb_amount": 2.0})
    exceeded = small["[mobile_data_issue]data_usage_exceeded[PERSONA:Easy]"]
    assert solved(exceeded, refuel)[0]
    assert not solved(exceeded, refuel, refuel)[0]
    locked = small["[service_issue]lock_sim_card_pin[PERSONA:Hard]"]
    assert solved(locked, ("transfer_to_human_agents", {"summary": "any"}))[0]
    assert not solved(locked)[0]


@with_upstream
@pytest.mark.slow
def test_the_initial_worlds_are_upstreams() -> None:
    worlds = {name: domain(str(PUBLIC), name, "manual").world() for name in ("mock", "telecom")}
    assert worlds["mock"].hashes()[0][:16] == "107f83a70b7bf4f6"
    assert [value[:16] for value in worlds["telecom"].hashes()] == ["304cf5ef059852e1", "e1f3a86373888082"]
    worlds["mock"].call("create_task", {"user_id": "user_1", "title": "Important Meeting"})
    assert worlds["mock"].hashes()[0][:16] == "3b82583d5c026d81"
    assert len(domain(str(PUBLIC), "telecom", "manual").tools) == 43
    used = worlds["telecom"].call("get_data_usage", {"customer_id": "C1001", "line_id": "L1002"})
    assert json.loads(used.text)["data_used_gb"] == "8.7"


@with_upstream
@pytest.mark.slow
def test_all_tickets_of_the_leaderboards_set() -> None:
    tasks = METHOD.load(upstream("telecom"))
    rates = dict.fromkeys(("truth", "nothing", "hand over"), 0)
    for task in tasks:
        truth = [(call.name, call.call.arguments) for call in task.expected(0).calls[:-1]]
        rates["truth"] += solved(task, *truth) == (True, 0)
        rates["nothing"] += solved(task)[0]
        rates["hand over"] += solved(task, ("transfer_to_human_agents", {"summary": ""}))[0]
    assert rates == {"truth": len(tasks), "nothing": 0, "hand over": 20}
    assert [task.name for task in METHOD.load(upstream("mock"))] == [
        *("create_task_1", "create_task_1_with_env_assertions", "update_task_1"),
        *("update_task_with_initialization_actions", "impossible_task_1"),
    ]
