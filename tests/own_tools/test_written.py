"""Conversations as people write them: read, checked, recorded, played and scored."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.models import Prediction
from rig.methods.scripted import called, replied
from rig.plugins.tooltalk.conversations import Conversation, load_directory
from rig.plugins.tooltalk.method import ToolTalk
from rig.world.toolbox import find_toolbox

Make = Callable[..., Path]

TOOLS = {
    "tools": [
        {"name": "get_day", "parameters": {"properties": {"day": {"type": "string", "format": "date"}}}},
        {"name": "get_other", "parameters": {"properties": {"n": {"type": "number"}}}, "default": [0]},
        {
            "name": "send",
            "parameters": {"properties": {"to": {"type": "string"}, "text": {"type": "string"}}},
            "default": {"status": "ok"},
        },
    ]
}
NOTHING: tuple[Any, ...] = ()


def play(place: Path, *turns: list[Any], name: str | None = None, **options: Any) -> tuple[Any, list[str]]:
    """The counts of a conversation in which these calls are made, turn by turn, and the reasons given."""
    method = ToolTalk()
    values = {option.name: option.default for option in method.options}
    values |= {"toolbox": str(place), "similarity": "exact", **options}
    [task] = [each for each in method.load(place) if name in (None, each.name)]
    setup, settings = method.ready(values), method.settings(values)
    setup.check(task, settings)
    from rig.core.events import Where

    episode = setup.start(task, settings, Where("", task.name, 0), lambda event: None, 0)
    for calls in turns:
        answers: list[Prediction] = [called(tool, arguments) for tool, arguments in calls]
        playing = episode.play()
        next(playing)
        try:
            for answer in [*answers, replied("")]:
                playing.send(answer)
        except StopIteration:
            pass
    score = episode.score()
    return score.counts, [verdict.reason for verdict in score.verdicts]


def first(place: Path) -> Conversation:
    return load_directory(place)[0]


def test_what_is_not_written_is_filled_in(folder: Make) -> None:
    place = folder(
        tools=TOOLS, one="- user: What is on?\n  calls:\n    - get_day: {day: 2025-03-06}\n- user: Thanks\n"
    )
    found = first(place)
    assert (found.name, found.suite, found.tools) == ("one", "box", ("get_day",))
    assert [turn.text for turn in found.turns] == ["What is on?", "Done.", "Thanks", "All right."]
    assert found.id == first(place).id
    [call] = found.ground_truth
    assert (call.name, call.arguments, call.recorded) == ("get_day", {"day": "2025-03-06"}, False)
    source = json.loads(json.dumps(found.source))
    assert ToolTalk().parse(source, "again", "box") == found


def test_json_is_as_good_as_yaml(folder: Make) -> None:
    place = folder(tools=TOOLS)
    turns = [
        {"user": "Hi", "calls": [{"send": {"to": {"$one_of": ["a", "b"]}}, "optional": True}, "get_day"]}
    ]
    (place / "conversations" / "x.json").write_text(json.dumps({"turns": turns, "tags": ["t"]}))
    (place / "conversations" / "y.json").write_text(json.dumps(turns))
    (place / "conversations" / "z.json").write_text(
        json.dumps([{"turns": turns}, {"turns": turns, "name": "last"}])
    )
    loaded = load_directory(place)
    assert [each.name for each in loaded] == ["x", "y", "z-1", "last"]
    assert [each.turns for each in loaded[1:]] == [loaded[0].turns] * 3
    send, get_day = loaded[0].ground_truth
    assert (send.arguments, send.optional, loaded[0].ground_truth_count) == ({"to": "a"}, True, 1)
    assert get_day.arguments == {}


ANSWERS = """
- user: What is on?
  calls:
    - get_day: {day: 2025-03-06}
      returns: [fair]
    - get_day: {day: 2025-03-07}
      raises: Nothing is on.
    - get_other: {n: {$number: 3, within: 1}}
"""


def test_tools_without_code_answer_as_recorded(folder: Make) -> None:
    place = folder(tools=TOOLS, one=ANSWERS)
    made = _made(place, [("get_day", {"day": "2025-03-06"}), ("get_day", {"day": "2025-03-07"})])
    assert made == [["fair"], "Nothing is on."]
    assert _made(place, [("get_day", {"day": "2025-03-08"})]) == ["get_day has no answer to this call."]
    assert _made(place, [("get_other", {"n": 3.5}), ("get_other", {"n": 9})]) == [[0], [0]]
    assert _made(place, [("send", {"to": "x"})]) == [{"status": "ok"}]


def _made(place: Path, calls: list[Any]) -> list[Any]:
    from rig.world import Simulator

    toolbox = find_toolbox(str(place))
    simulator = Simulator(toolbox.world(), toolbox)
    conversation = first(place)
    simulator.start(*conversation.start, recorded=conversation.ground_truth)
    done = [simulator.execute(Call(name, arguments)) for name, arguments in calls]
    return [each.response if each.exception is None else each.exception for each in done]


def test_the_same_lookup_may_find_something_else_later(folder: Make) -> None:
    turn = "- user: And now?\n  calls:\n    - get_day: {day: 2025-03-06}\n      returns: %s\n"
    place = folder(tools=TOOLS, one=turn % "fair" + turn % "rain")
    again = [("get_day", {"day": "2025-03-06"})] * 3
    assert _made(place, again) == ["fair", "rain", "rain"]
    counts, _ = play(place, again[:1], again[:1])
    assert (counts["successes"], counts["matches"]) == (1, 2)


ORDER = """
user: [Do it]
order: {order}
calls:
  - get_day: {{day: 2025-03-06}}
  - send: {{to: Ana}}
    optional: {optional}
  - send: {{to: Jo}}
must_not_call: get_other
"""


def ordered(order: str = "any", optional: str = "false") -> str:
    lines = ORDER.format(order=order, optional=optional).strip().splitlines()
    return (
        "turns:\n" + "\n".join(f"  {'- ' if n == 0 else '  '}{line}" for n, line in enumerate(lines)) + "\n"
    )


DAY, ANA, JO, OTHER = (
    ("get_day", {"day": "2025-03-06"}),
    ("send", {"to": "Ana"}),
    ("send", {"to": "Jo"}),
    ("get_other", {}),
)


@pytest.mark.parametrize(
    ("order", "optional", "calls", "success", "matches", "bad"),
    [
        ("any", "false", [JO, DAY, ANA], 1, 3, 0),
        ("given", "false", [DAY, ANA, JO], 1, 3, 0),
        ("given", "false", [DAY, JO, ANA], 0, 2, 1),
        ("given", "false", [DAY, JO, ANA, JO], 0, 3, 1),
        ("given", "true", [DAY, JO], 1, 2, 0),
        ("any", "true", [DAY, JO], 1, 2, 0),
        ("any", "true", [DAY, JO, ANA], 1, 2, 0),
        ("any", "true", [ANA], 0, 0, 0),
        ("any", "false", [DAY, JO], 0, 2, 0),
        ("any", "false", [DAY, ANA, JO, OTHER], 0, 3, 0),
        ("any", "false", [DAY, ANA, JO, JO], 0, 3, 1),
    ],
)
def test_order_and_optional_calls(
    folder: Make, order: str, optional: str, calls: list[Any], success: int, matches: int, bad: int
) -> None:
    place = folder(tools=TOOLS, one=ordered(order, optional))
    counts, _ = play(place, calls)
    assert (counts["successes"], counts["matches"], counts["bad_actions"]) == (success, matches, bad)
    assert counts["ground_truths"] == (2 if optional == "true" else 3)
    assert counts["forbidden"] == calls.count(OTHER)


def test_what_is_said_of_a_call_that_may_not_be(folder: Make) -> None:
    place = folder(tools=TOOLS, one=ordered("given"))
    _, reasons = play(place, [JO, OTHER, DAY])
    assert reasons[0] == "comes before a call that has to come first"
    assert reasons[1] == "'get_other' must not be called here"


@pytest.mark.parametrize("now", ["0500-01-01 09:00", "2025-03-03T09:00:00+02:00", "9999-12-31 23:59:59"])
def test_a_conversation_takes_place_at_any_time(folder: Make, now: str) -> None:
    place = folder(tools=TOOLS, one=f"now: {now}\nturns:\n  - user: Go\n")
    assert load_directory(place)[0].metadata.now == datetime.fromisoformat(now).replace(tzinfo=None)


def test_what_is_required_is_never_lost_to_what_is_optional(folder: Make) -> None:
    calls = (
        "  calls:\n    - send: {to: {$any: true, example: x}}\n      optional: true\n    - send: {to: Jo}\n"
    )
    place = folder(tools=TOOLS, one=f"- user: Go\n{calls}")
    for made in ([JO], [ANA, JO], [JO, ANA], [JO, JO]):
        counts, _ = play(place, made)
        assert (counts["successes"], counts["matches"]) == (1, 1), made


def test_ways_of_matching_that_upstream_does_not_know(folder: Make) -> None:
    place = folder(tools=TOOLS, one=ordered("given"))
    with pytest.raises(RigError, match="--grader upstream does not know of"):
        play(place, [DAY], grader="upstream")


def test_nothing_is_stored_of_a_grader_that_does_not_know_a_rule(
    folder: Make, rig: Callable[..., Any]
) -> None:
    """Not even of the conversations without rules that come before."""
    place = folder(tools=TOOLS, a="- user: Go\n  calls: [get_day]\n", b=ordered("given"))
    assert rig("run", "oracle", "--toolbox", place, "--display", "none").code == 0
    refused = rig("--open", place, "score", "latest", "--grader", "upstream")
    assert (refused.code, "--grader upstream does not know of" in refused.err) == (2, True)
    assert len(rig("show", "latest", "--json").json["scores"]) == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- usr: x\n", "one.yaml, line 1: 1.usr: is not known here; choose from: user, calls"),
        ("- calls: []\n", "one.yaml, line 1: 1: a turn needs what the user says"),
        ("turns: []\n", "a conversation needs a turn at least"),
        ("name: x\n", "a conversation needs turns"),
        ("- user: x\n  calls: send\n", "line 2: 1.calls: needs a list, not a text"),
        (
            "- user: x\n  calls:\n    - {a: 1, b: 2}\n",
            "line 3: 1.calls.1: a call names one tool, here are: a, b",
        ),
        (
            "- user: x\n  calls:\n    - send: [1]\n",
            "line 3: 1.calls.1.send: needs names with values, not a list",
        ),
        (
            "- user: x\n  calls:\n    - send:\n        to: {$sme: 1}\n",
            "line 4: 1.calls.1.send.to: '$sme' is not a rule",
        ),
        (
            "- user: x\n  calls:\n    - send: {}\n      returns: 1\n      raises: x\n",
            "line 5: 1.calls.1.raises",
        ),
        ("- user: x\n  order: random\n", "line 2: 1.order: is any or given, not random"),
        ("now: soon\nturns:\n  - user: x\n", "line 1: now: needs a date and time"),
        ("- user: x\n  must_not_call: [send]\n  calls:\n    - send: {}\n", "send is due in this turn"),
        ("- user: ''\n", "line 1: 1.user: needs a text, not an empty text"),
        (
            "- user: x\n  calls:\n    - nothing: {}\n",
            "line 3: 1.calls.1: there is no tool nothing; choose from: get_day",
        ),
        ("- user: x\n  calls:\n    - send: {whom: Jo}\n", "line 3: 1.calls.1: send has no argument 'whom'"),
        ("- user: x\n  calls:\n    - get_day: {day: {$any: 1}}\n", ""),
        ("- user: x\n  must_not_call: nothing\n", "must_not_call names nothing, which is not a tool"),
    ],
)
def test_check_says_what_is_wrong_in_one_line(folder: Make, text: str, fault: str) -> None:
    place = folder(tools=TOOLS, one=text, two="- user: sound\n")
    report = ToolTalk().check(place)
    assert len(report.faults) == bool(fault)
    assert fault in "".join(map(str, report.faults))


def test_check_makes_the_calls(folder: Make) -> None:
    code = (
        "from rig.world import tool\n@tool\ndef get_n(n: int):\n    if n < 0:\n        raise KeyError(n)\n"
        "    if n > 9:\n        print('large')\n    return n + 1\n"
    )
    turn = "- user: x\n  calls:\n    - get_n: {n: %s}\n      %s\n"
    text = (
        turn % (1, "returns: 2")
        + turn % (-1, "optional: true")
        + turn % (2, "raises: Too small")
        + turn % (10, "returns: 12")
    )
    place = folder(code=code, one=text)
    with pytest.raises(RigError, match="its tools are code, which is run when you name it: --toolbox"):
        ToolTalk().check(place)
    faults = list(map(str, ToolTalk().check(place, toolbox=find_toolbox(str(place))).faults))
    one, code_file = place / "conversations" / "one.yaml", place / "toolbox.py"
    assert faults == [
        f"{one}, line 7: 2.calls.1: fails: get_n failed: KeyError: -1 (write `raises` where it shall)",
        f"{one}, line 11: 3.calls.1: should fail with 'Too small', and does not",
        f"{one}, line 15: 4.calls.1: returns 11, written is 12 (take `returns` out and record it again)",
        f"{code_file}, line 5: get_n: KeyError: -1",
        f"{code_file}, line 2: get_n printed 'large', which nobody sees; return it",
    ]


YAML = """\
# What people write stays as it is.
- user: x   # the first
  calls:
    - get_other
    - get_other: {n: 1}  # a remark
    - {get_other: {n: 2}}

    - get_other:
        n: 3

  reply: |
    Done,
    I say.
- user: y
  calls:
  - send: {to: "J: o", text: >
      folded
      text
      }
  - tool: send
    arguments:
      to: Ana
---
turns:
  - user: z
    calls:
      - get_other: {n: 5}"""


def test_what_calls_return_is_written_down_below_them(folder: Make) -> None:
    place = folder(tools=TOOLS, one=YAML.replace(", text: >\n      folded\n      text\n      }", "}"))
    file = place / "conversations" / "one.yaml"
    before = [each.turns for each in load_directory(place)]
    assert ToolTalk().record(place) == [file]
    text = file.read_text()
    assert "    - get_other: {n: 1}  # a remark\n      returns: [0]\n" in text
    assert "    - {get_other: {n: 2}, returns: [0]}\n" in text
    assert text.startswith("# What people write stays as it is.\n- user: x   # the first\n")
    after = load_directory(place)
    assert [len(turns) for turns in before] == [len(each.turns) for each in after]
    assert all(call.recorded for each in after for call in each.ground_truth)
    assert ToolTalk().record(place) == []
    assert not ToolTalk().check(place).faults


def test_recording_json_and_what_is_in_tooltalks_shape(folder: Make) -> None:
    place = folder(tools=TOOLS)
    (place / "conversations" / "x.json").write_text('[{"user": "Hi", "calls": ["get_other", {"send": {}}]}]')
    call = {"request": {"api_name": "get_other", "parameters": {}}}
    shape = {
        "name": "y",
        "conversation_id": "1",
        "user": {"username": ""},
        "metadata": {"timestamp": "2025-03-06 09:00:00"},
        "conversation": [{"role": "user", "text": "Hi"}, {"role": "assistant", "text": "Ho", "apis": [call]}],
    }
    (place / "conversations" / "y.json").write_text(json.dumps(shape))
    assert len(ToolTalk().record(place)) == 2
    x, y = (json.loads((place / "conversations" / name).read_text()) for name in ("x.json", "y.json"))
    assert x[0]["calls"] == [{"get_other": {}, "returns": [0]}, {"send": {}, "returns": {"status": "ok"}}]
    assert y["conversation"][1]["apis"] == [{**call, "response": [0], "exception": None}]
    assert not ToolTalk().check(place).faults


def test_names_that_are_there_twice(folder: Make) -> None:
    place = folder(tools=TOOLS, a="name: same\nturns: [{user: x}]\n", b="name: same\nturns: [{user: x}]\n")
    assert "same is the name of one in" in "".join(map(str, ToolTalk().check(place).faults))
    with pytest.raises(RigError, match="names must be unique; repeated: same"):
        load_directory(place)


SLOW = """
import time
from rig.world import tool
TABLES = "CREATE TABLE seen (n INTEGER);"
@tool
def add_n(db, n: int):
    'Count on.'
    time.sleep(0.1)
    db["seen"].insert({"n": n})
    return db["seen"].count
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_as_if_nothing_had_been(
    rig: Callable[..., Any], folder: Make, tmp_path: Path
) -> None:
    turn = "    - user: one\n      calls:\n        - add_n: {n: 1}\n        - add_n: {n: 2}\n"
    text = "".join(f"- name: c{n}\n  turns:\n{turn}{turn}" for n in range(5))
    place = folder(code=SLOW, one=text)
    asked = ("run", "oracle", "--toolbox", str(place), "--similarity", "exact", "--display", "none", "--json")
    runs = {name: tmp_path / f"{name}.sqlite" for name in ("whole", "killed")}
    command = [sys.executable, "-m", "rig", *asked, "--runs", str(runs["killed"])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and _turns(rig, runs["killed"]) < 3:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 3 <= _turns(rig, runs["killed"]) < 10
    resumed = rig("run", "--resume", "latest", "--display", "none", "--json", "--runs", runs["killed"])
    assert resumed.code == 0, resumed.err
    assert resumed.json["arms"][0]["success_rate"] == 1.0
    whole = rig(*asked, "--runs", runs["whole"])
    steps = {}
    for name, store in runs.items():
        rows = rig(
            "export", "latest", "--format", "jsonl", "--rows", "steps", "--runs", store
        ).out.splitlines()
        wanted = (
            "conversation",
            "turn",
            "step",
            "kind",
            "tool",
            "arguments",
            "response",
            "exception",
            "match",
        )
        steps[name] = [{key: json.loads(row).get(key) for key in wanted} for row in rows]
    assert whole.code == 0
    assert len(steps["whole"]) == 5 * 2 * 3
    assert steps["killed"] == steps["whole"]


def _turns(rig: Callable[..., Any], store: Path) -> int:
    done = rig("show", "latest", "--json", "--runs", store)
    return sum(each["turns_done"] for each in done.json["conversations"]) if done.code == 0 else 0


def test_the_hash_of_the_tools_is_in_the_fingerprint(rig: Callable[..., Any], folder: Make) -> None:
    place = folder(tools=TOOLS, one=ANSWERS)
    asked = ("run", "oracle", "--toolbox", place, "--similarity", "exact", "--display", "none")
    hashes = []
    for tools in (TOOLS, TOOLS, json.loads(json.dumps(TOOLS).replace("[0]", "[1]"))):
        folder(tools=tools)
        assert rig(*asked).code == 0
        [arm] = rig("show", "latest", "--json").json["arms"]
        hashes.append(arm["fingerprint"]["protocol.toolbox_sha256"])
    assert hashes[0] == hashes[1] != hashes[2]
    shutil.rmtree(place)
    gone = rig("run", "--resume", "latest", "--display", "none")
    assert (gone.code, gone.err.count("\n")) == (2, 1)


def test_the_command_for_a_new_folder_can_be_pasted(rig: Callable[..., Any], tmp_path: Path) -> None:
    place = tmp_path / "my rooms"
    assert rig("suites", "new", place).out == f"{place} is ready: rig run oracle --toolbox '{place}'\n"


@pytest.mark.slow
@pytest.mark.model
def test_four_conversations_at_once(rig: Callable[..., Any], tmp_path: Path, smollm2: Path) -> None:
    place = tmp_path / "rooms"
    assert rig("suites", "new", place, "--code").code == 0
    file = place / "conversations" / "first.yaml"
    file.write_text("".join(file.read_text().replace("name: ", f"name: {n}-") for n in range(2)))
    asked = ("--toolbox", place, "--similarity", "exact", "--display", "none", "--json", "--threads", 1)
    bounds = ("--max-tokens", 24, "--max-calls", 1, "--tools", "exact")
    alone, together = (rig("run", smollm2, *asked, *bounds, "--parallel", each) for each in (1, 4))
    assert (alone.code, together.code) == (0, 0), together.err
    counts = [
        {name: done.json["arms"][0][name] for name in ("conversations", "ground_truths", "recall")}
        for done in (alone, together)
    ]
    assert counts[0] == counts[1]
    assert counts[0]["conversations"] == 4


def test_a_rule_that_was_changed_is_a_grader_of_its_own(
    rig: Callable[..., Any], folder: Make, tmp_path: Path
) -> None:
    tools = [{"name": "find", "parameters": {"properties": {"what": {"type": "string"}}}, "default": []}]
    place = folder(tools={"tools": tools}, one="- user: Find it.\n  calls:\n    - find: {what: A b}\n")
    graders = []
    assert rig("run", "oracle", "--suite", place, "--toolbox", place, "--display", "none").code == 0
    for match in ({}, {"what": "any"}, {}):
        folder(tools={"tools": [{**tools[0], **({"match": match} if match else {})}]})
        done = rig("score", "latest", "--similarity", "exact", "--json")
        assert done.code == 0, done.err
        graders.append(done.json["grader"]["rules_sha256"])
    assert graders[0] == graders[2] != graders[1]
    table = rig("score", "latest", "--similarity", "exact").out
    assert all(f"exact, rules {each[:8]}" in table for each in graders)


def test_rules_inside_a_value_are_held_to_and_what_differs_is_named_by_its_path(folder: Make) -> None:
    order = {"name": "order", "parameters": {"properties": {"box": {"type": "object"}}}, "default": {}}
    calls = (
        "- user: order it\n  calls:\n    - order:\n        box:\n"
        "          note: {$text: please ring}\n          lines: [{n: {$number: 2}}]\n"
    )
    place = folder(tools={"tools": [order]}, one=calls)
    [right, _] = play(place, [("order", {"box": {"note": "please ring", "lines": [{"n": "2"}]}})])
    assert right["matches"] == 1
    wrong, reasons = play(place, [("order", {"box": {"note": "please ring", "lines": [{"n": 3}]}})])
    assert wrong["matches"] == 0
    assert "box.lines[0].n: expected {'$number': 2}, got 3" in reasons[0]
    other, reasons = play(place, [("order", {"box": {"note": "go away", "lines": [{"n": 2}]}})])
    assert other["matches"] == 0
    assert "box.note" in reasons[0]
