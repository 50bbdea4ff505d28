"""Logged chats become conversations that can be reviewed, checked and run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.documents.documents import read

TOOL = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Find.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    },
}


def call(number: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": "find_order", "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": number, "type": "function", "function": function}],
    }


FIRST = [
    {"role": "system", "content": "You work for Ana Lopez."},
    {"role": "user", "content": "Where is order 0171-9?"},
    call("a", order="0171-9"),
    {"role": "tool", "tool_call_id": "a", "content": '{"status": "sent", "to": "Ana Lopez", "at": "1e3"}'},
]
THEN = [
    *FIRST,
    {"role": "assistant", "content": "It is on its way."},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
]
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "You are welcome."}}]}
RULES = "replace:\n  - {text: Ana Lopez, with: Mara Quill}\n  - {regex: '[0-9]{4}-', with: '9999-'}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [
        {"messages": FIRST, "tools": [TOOL]},
        {"request": {"messages": THEN, "tools": [TOOL]}, "response": ANSWER},
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        {"messages": [{"content": "no role"}]},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join([*map(json.dumps, lines), "{broken", ""]))
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path / "log.jsonl"


def test_logs_become_a_suite(rig: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    box = tmp_path / "box"
    done = rig("import", "--format", "openai-chat", log, "--output", box, "--rules", tmp_path / "rules.yaml")
    assert done.code == 1, done.err
    assert "2 things could not be read; the rest is there" in done.err
    assert "wrote 2 conversations" in done.out
    assert "line 4: not a logged chat: messages.1.role is missing" in done.err
    assert "line 5: not JSON" in done.err
    texts = "".join(path.read_text() for path in box.rglob("*") if path.is_file())
    assert "Ana" not in texts
    assert "0171" not in texts
    [first] = read(box / "conversations" / "chat-1.yaml")
    assert first.value["notes"] == "You work for Mara Quill."
    assert first.value["turns"] == [
        {
            "user": "Where is order 9999-9?",
            "calls": [
                {
                    "tool": "find_order",
                    "arguments": {"order": "9999-9"},
                    "returns": {"status": "sent", "to": "Mara Quill", "at": "1e3"},
                }
            ],
            "reply": "It is on its way.",
        },
        {"user": "Thanks", "reply": "You are welcome."},
    ]
    assert rig("check", "--toolbox", box).code == 0
    ran = rig("run", "oracle", "--toolbox", box, "--similarity", "exact", "--display", "none", "--json")
    assert ran.json["arms"][0]["success_rate"] == 1.0
    again = rig("import", "--format", "openai-chat", log, "--output", box)
    assert (again.code, "not an empty directory" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "image_url", "image_url": {"url": "data:,"}}, "image"),
        ({"type": "input_image", "image_url": "data:,"}, "image"),
        ({"type": "input_audio", "input_audio": {}}, "audio"),
        ({"type": "file", "file": {}}, "file"),
    ],
)
def test_what_is_no_text_is_told_and_leaves_a_sign(
    rig: Callable[..., Any], tmp_path: Path, part: dict[str, Any], kind: str
) -> None:
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": [part]},
        {"role": "assistant", "content": "A dog."},
    ]
    (tmp_path / "log.jsonl").write_text(json.dumps(chat))
    done = rig("import", "--format", "openai-chat", tmp_path / "log.jsonl", "--output", tmp_path / "box")
    assert f"line 1: the user sends {kind}, which no model here gets" in done.out + done.err
    [talk] = read(next((tmp_path / "box" / "conversations").iterdir()))
    assert [turn["user"] for turn in talk.value["turns"]] == [f"What is this?\n[{kind}]", f"[{kind}]"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ((), "name a folder with --output"),
        (("--output", "out", "--rules", "bad.yaml"), "bad.yaml, line 2: replace.1: needs `with`"),
        (
            ("--output", "out", "--rules", "regex.yaml"),
            "regex.yaml, line 1: replace.1: is not a regular expression",
        ),
        (("--output", "out", "--rules", "none.yaml"), "none.yaml: cannot be read"),
        (("--output", "out", "--rules", "other.yaml"), "other.yaml, line 1: needs `replace`, a list of what"),
    ],
)
def test_what_cannot_be_converted_is_one_line(
    rig: Callable[..., Any],
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    fault: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("replace:\n  - text: a\n")
    (tmp_path / "other.yaml").write_text("{}\n")
    (tmp_path / "regex.yaml").write_text("replace: [{regex: '(', with: x}]\n")
    done = rig("import", "--format", "openai-chat", log, *arguments)
    assert done.code == 2
    assert fault in done.err
    assert not (tmp_path / "out").exists()


def test_a_log_without_a_user(rig: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"messages": [{"role": "system", "content": "x"}]}\n')
    done = rig("import", "--format", "openai-chat", tmp_path / "log.jsonl", "--output", tmp_path / "out")
    assert (done.code, "holds no chat with a message of a user" in done.err) == (2, True)


def test_tools_that_cannot_be_read_are_not_written(rig: Callable[..., Any], tmp_path: Path) -> None:
    odd = {"type": "function", "function": {"name": "odd", "parameters": {"type": "strin"}}}
    bomb = {
        "allOf": [{"anyOf": [{"type": "string", "title": f"{n}.{m}"} for m in range(4)]} for n in range(13)]
    }
    large = {"type": "function", "function": {"name": "large", "parameters": {"properties": {"x": bomb}}}}
    tools = [{"type": "web_search"}, odd, large, TOOL]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"messages": FIRST, "tools": tools}))
    done = rig("import", log, "--format", "openai-chat", "--output", tmp_path / "suite", "--json")
    assert [note for note in done.json["notes"] if "odd: " in note]
    [*names] = [
        tool["function"]["name"] for tool in json.loads((tmp_path / "suite/tools.json").read_text())["tools"]
    ]
    assert names == ["large", "find_order"]
    assert rig("tools", "list", tmp_path / "suite").code == 0
