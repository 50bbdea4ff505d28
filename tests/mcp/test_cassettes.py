"""What servers answered is played again without them: the same bytes, and nothing that was not said."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.config.schemes import LIVE, ServerUse
from rig.core.calls import Call
from rig.core.errors import RigError
from rig.plugins.mcp.cassette import NOT_RECORDED, Cassette, RecordedCall, from_log, normalized, redactor
from rig.plugins.mcp.servers import CASSETTE, record_into, servers_of
from rig.world.toolbox import Simulator, find_toolbox

Box = Callable[..., Path]
Play = Callable[..., Simulator]
CALLS = [
    Call("read", {"path": "/state/data/a.txt"}),
    Call("write", {"path": "/state/data/a.txt", "text": "new\n"}),
    Call("read", {"path": "/state/data/a.txt"}),
    Call("fail", {"text": "no"}),
    Call("refuse", {}),
    Call("picture", {}),
]


def recorded(folder: Path, play: Play, calls: list[Call] = CALLS, use: ServerUse = LIVE) -> list[Any]:
    """What a folder's server answers to calls, which are kept in its cassette."""
    servers = servers_of(find_toolbox(str(folder), use))
    assert servers is not None
    cassette = record_into(servers)
    outcomes = [one.outcome for one in map(play(folder, use).execute, calls)]
    cassette.write(folder / CASSETTE, servers.redact)
    return outcomes


def test_a_cassette_answers_as_the_server_did(box: Box, play: Play) -> None:
    folder = box()
    live = recorded(folder, play)
    assert [outcome.exception for outcome in live] == [None, None, None, "no", "not today", None]
    (folder / "server.py").unlink()
    replayed = play(folder, ServerUse("replay"))
    start = replayed.snapshot()
    for _ in range(2):
        answers = [replayed.execute(call).outcome for call in CALLS]
        assert json.dumps([one.as_json() for one in answers]) == json.dumps([one.as_json() for one in live])
        replayed.restore(start)


def test_a_call_that_was_not_recorded_has_no_answer(box: Box, play: Play) -> None:
    folder = box()
    recorded(folder, play)
    replayed = play(folder, ServerUse("replay"))
    never = replayed.execute(Call("read", {"path": "/state/data/b.txt"})).outcome
    assert never.exception == NOT_RECORDED
    replayed.execute(CALLS[1])
    assert replayed.execute(CALLS[2]).response == "new\n"
    assert replayed.execute(CALLS[1]).exception == NOT_RECORDED  # nobody wrote it twice


def test_a_server_is_asked_for_what_is_missing(box: Box, play: Play) -> None:
    folder = box()
    recorded(folder, play)
    mixed = play(folder, ServerUse("live-misses"))
    start = mixed.snapshot()
    assert mixed.execute(CALLS[1]).exception is None
    world: Any = mixed.world
    assert world._clients == {}
    assert mixed.execute(Call("read", {"path": "data/a.txt"})).response == "new\n"
    assert mixed.execute(Call("write", {"path": "data/b.txt", "text": "b"})).exception is None
    middle = mixed.snapshot()
    mixed.restore(start)
    assert mixed.execute(Call("read", {"path": "data/a.txt"})).response == "hello\n"
    mixed.restore(middle)
    assert mixed.execute(Call("read", {"path": "data/b.txt"})).response == "b"


def test_equal_calls_are_one() -> None:
    call = RecordedCall(server="s", tool="t", arguments={"n": 1, "of": [{"b": 2.0}]}, before="x", result={})
    cassette = Cassette({"s": {}}, "x", [call, call])
    assert len(cassette.calls) == 1
    assert cassette.find("s", "t", {"of": [{"b": 2}], "n": 1.0}, "x", 0) is not None
    assert cassette.find("s", "t", {"of": [{"b": 2}], "n": True}, "x", 0) is None
    assert cassette.find("s", "t", {"of": [{"b": 2}], "n": 1}, "y", 0) is None
    schema = {"properties": {"page": {"default": 1}, "q": {"default": ""}}, "required": ["q"]}
    assert normalized({"page": 1, "q": "", "x": 2}, schema) == {"q": "", "x": 2}


def test_the_same_call_answered_twice_is_played_in_order() -> None:
    told: dict[str, Any] = {"server": "s", "tool": "t", "arguments": {}, "before": "x"}
    cassette = Cassette({"s": {}}, "x", [RecordedCall(**told, result={"n": n}) for n in range(2)])
    answers = [cassette.find("s", "t", {}, "x", again) for again in range(3)]
    assert [one and one.answer["result"]["n"] for one in answers] == [0, 1, 1]


def test_no_secret_gets_into_a_cassette(box: Box, play: Play) -> None:
    secret = "tok en/Zürich+9"
    folder = box(env={"API_KEY": secret, "PLACE": "$STATE/data", "ONE": "1"})
    calls = [
        Call("environment", {}),
        Call("echo", {"text": f"my key is {secret}"}),
        Call("echo", {"text": "card 4111-1111"}),
        Call("echo", {"text": __import__("base64").b64encode(secret.encode()).decode()}),
    ]
    use = ServerUse("live", False, (r"\d{4}-\d{4}",))
    live = recorded(folder, play, calls, use)
    assert live[1].response == f"my key is {secret}"
    text = (folder / CASSETTE).read_text()
    for hidden in (secret, json.dumps(secret)[1:-1], "4111", calls[3].arguments["text"]):
        assert hidden not in text
    replayed = play(folder, ServerUse("replay"))
    assert replayed.execute(calls[1]).response == f"my key is {secret}"
    config = (folder / "mcp.json").read_text()
    (folder / "mcp.json").write_text(config.replace(json.dumps(secret), '"${NOT_HERE}"'))
    elsewhere = play(folder, ServerUse("replay"))
    told = "my key is ${env:API_KEY}"
    assert elsewhere.execute(Call("echo", {"text": told})).response == told.replace("env:API_KEY", "NOT_HERE")


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(RigError, match="--redact: not a regular expression"):
        redactor({}, ["("])


def test_a_clients_log(tmp_path: Path) -> None:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"a": 1}},
    }
    lines = [
        asked,
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"dir": "in", "msg": {"id": 1, "result": {"content": []}}},
        {"dir": "out", "msg": {**asked, "id": "x"}},
        {"msg": {"id": "x", "error": {"message": "no"}}},
        [3],
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    calls = from_log(tmp_path / "log.jsonl", "s")
    assert [call.answer for call in calls] == [{"result": {"content": []}}, {"error": {"message": "no"}}]
    assert Cassette({"s": {}}, "", calls).find("s", "t", {"a": 1}, "any state", 0) is not None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "not a line of a cassette"),
        ('{"kind": "server", "v": 2}', "this rig reads version 1"),
        ('{"kind": "state"}', "not a cassette"),
        ('{"kind": "call", "server": "s"}', "tool is missing"),
        ('{"kind": "call", "server": "s", "tool": "t", "arguments": [1]}', "arguments"),
        ("[" * 5000, "nested|not JSON"),
    ],
)
def test_damaged_cassettes(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / CASSETTE).write_text(text)
    with pytest.raises(RigError, match=fault):
        Cassette.read(tmp_path / CASSETTE)


def test_replay_needs_a_cassette(box: Box) -> None:
    with pytest.raises(RigError, match="rig tools record"):
        find_toolbox(str(box()), ServerUse("replay"))


def cassette_of(folder: Path, *lines: str) -> Path:
    path = folder / CASSETTE
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def call_line(result: Any = None, **more: Any) -> str:
    call = {"kind": "call", "server": "scripted", "tool": "echo", "arguments": {"text": "a"}}
    return json.dumps({**call, "result": result or {"content": []}, **more})


SERVER = json.dumps({"kind": "server", "v": 1, "name": "scripted", "tools": []})


def test_thousands_of_answers_to_one_call_take_linear_time(tmp_path: Path) -> None:
    answers = [
        call_line({"content": [{"type": "text", "text": f"{number} {'x' * 500}"}]}) for number in range(6_000)
    ]
    path = cassette_of(tmp_path, SERVER, *answers, *answers)
    began = time.process_time()
    cassette = Cassette.read(path)
    assert time.process_time() - began < 8
    assert len(cassette.calls) == 6_000
    for again, text in ((0, "0 "), (5_999, "5999 "), (10**6, "5999 ")):
        found = cassette.find("scripted", "echo", {"text": "a"}, "", again)
        assert found is not None
        assert found.answer["result"]["content"][0]["text"].startswith(text)


@pytest.mark.parametrize("levels", [100, 195, 210, 490, 5_000, 100_000])
def test_a_deep_line_is_played_or_refused_in_one_line(box: Box, play: Play, levels: int) -> None:
    folder = box()
    deep = '{"content": [], "structuredContent": ' + "[" * levels + "]" * levels + "}"
    line = call_line("deep", before=None).replace('"deep"', deep)
    listing = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    server = json.dumps({"kind": "server", "v": 1, "name": "scripted", "tools": [listing]})
    path = cassette_of(folder, server, line)
    if levels > 200:
        with pytest.raises(RigError, match=r"line 2: (nested|not JSON)"):
            Cassette.read(path)
        return
    outcome = play(folder, ServerUse("replay")).execute(Call("echo", {"text": "a"})).outcome
    assert json.dumps(outcome.response) == "[" * levels + "]" * levels


@pytest.mark.parametrize("tools", ["", ', "tools": []'])
def test_a_server_line_without_tools_has_none(box: Box, tools: str) -> None:
    folder = box()
    cassette_of(folder, f'{{"kind": "server", "v": 1, "name": "scripted"{tools}}}', call_line())
    with pytest.raises(RigError) as refused:
        find_toolbox(str(folder), ServerUse("replay"))
    assert "\n" not in str(refused.value)
    assert CASSETTE in str(refused.value)
