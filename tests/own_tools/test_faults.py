"""Folders of tools and conversations with something wrong: one clear line that names the place."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.tooltalk.method import ToolTalk

Rig = Callable[..., Any]
Make = Callable[..., Path]

GOOD = {
    "tools": [{"name": "find", "parameters": {"properties": {"what": {"type": "string"}}}, "default": []}]
}
ASKED = "- user: Find it.\n  calls:\n    - find: {what: it}\n"


def tool(**properties: Any) -> list[dict[str, Any]]:
    return [{"name": "find", "parameters": {"type": "object", "properties": properties}}]


LISTINGS: dict[str, tuple[Any, str]] = {
    "no JSON": ('[{"name": ]', "tools.json, line 1: not JSON"),
    "no schema": (
        tool(what={"type": "word"}),
        "tools.json: holds no tools (find: 1.parameters: what has the type 'word'",
    ),
    "to itself": (tool(a={"$ref": "#/properties/a"}), "find: 1.parameters: a refers to itself"),
    "elsewhere": (tool(a={"$ref": "https://x/y"}), "only references within the file are followed"),
    "nowhere": (tool(a={"$ref": "#/$defs/b"}), "a refers to '#/$defs/b', which is not there"),
    "too deep": ("[" * 3000 + "]" * 3000, "tools.json: nested"),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_with_something_wrong_is_one_line(rig: Rig, folder: Make, name: str) -> None:
    tools, fault = LISTINGS[name]
    place = folder(tools=tools, one=ASKED)
    checked = rig("tools", "check", place)
    assert checked.code == 2
    [line] = [line for line in (checked.out + checked.err).splitlines() if fault in line]
    assert str(place) in line
    assert len(line) < 500
    done = rig("run", "oracle", "--display", "none", "--toolbox", place)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert fault in done.err


OPEN: dict[str, tuple[dict[str, Any], str]] = {
    "too many": (
        {"type": "array", "items": {"type": "string"}, "minItems": 10**9},
        "a grammar does not hold minItems 1000000000",
    ),
    "no number": ({"type": "integer", "minimum": 3, "maximum": 1}, "bounds that no number is within"),
    "no pattern": ({"type": "string", "pattern": "^(a$"}, "not held to: the pattern '^(a$'"),
    "ahead": ({"type": "string", "pattern": "^(?=a).*$"}, "pattern '^(?=a).*$'"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_a_grammar_cannot_hold_refuses_nothing(rig: Rig, folder: Make, name: str) -> None:
    schema, note = OPEN[name]
    place = folder(tools=tool(a=schema, what={"type": "string"}), one=ASKED)
    assert note in rig("tools", "check", place).out
    assert rig("run", "oracle", "--display", "none", "--toolbox", place).code == 0


TALKS: dict[str, tuple[str, str]] = {
    "no YAML": ("- user: [1\n- x: 2\n", "one.yaml, line 1: not YAML"),
    "an unknown tool": ("- user: x\n  calls:\n    - lose: {}\n", "one.yaml, line 3"),
    "an unknown argument": ("- user: x\n  calls:\n    - find: {who: me}\n", "one.yaml, line 3"),
    "a rule in a rule": (
        "- user: x\n  calls:\n    - find: {what: {$one_of: [{$text: me}, it]}}\n",
        "one.yaml, line 3: 1.calls.1.find.what: $one_of takes values, and reads no rules among them",
    ),
    "a name of two lines": (
        'must_not_call: ["a\\nb"]\nturns:\n  - user: x\n',
        "one: must_not_call names a b, which is not a tool",
    ),
    "a name twice": ("- user: x\n  user: y\n", "one.yaml, line 2: the name 'user' appears twice"),
    "a bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
        ),
        "one.yaml",
    ),
    "an object of Python": ("- user: !!python/object/apply:os.system [x]\n", "one.yaml, line 1: the tag"),
    "too deep": ("- user: " + "[" * 90 + "]" * 90 + "\n", "nested deeper than 64 levels"),
    "nobody speaks": ("- calls:\n    - find: {what: it}\n", "one.yaml, line 1"),
    "no rule": ("- user: x\n  calls:\n    - find: {what: {$fuzzy: 1}}\n", "one.yaml, line 3"),
}


@pytest.mark.parametrize("name", TALKS)
def test_a_conversation_with_something_wrong_is_one_line(rig: Rig, folder: Make, name: str) -> None:
    text, fault = TALKS[name]
    place = folder(tools=GOOD, one=text)
    checked = rig("check", "--toolbox", place)
    assert checked.code in (1, 2)
    assert fault in checked.out + checked.err
    run = rig("run", "oracle", "--toolbox", place, "--display", "none")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "one" in run.err


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "too large"])
@pytest.mark.parametrize("name", ["tools.json", "toolbox.py", "conversations/one.yaml"])
def test_what_is_no_file_to_read_is_never_waited_for(rig: Rig, folder: Make, name: str, kind: str) -> None:
    place = folder(tools=GOOD, one=ASKED)
    path = place / name
    path.unlink(missing_ok=True)
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "dangling link":
            path.symlink_to(place / "nowhere")
        case _:
            with path.open("wb") as file:
                file.truncate(64 * 2**20)
    done = rig("run", "oracle", "--toolbox", place, "--display", "none")
    assert done.err.count("\n") <= 1
    assert done.code == 0 or (done.code, str(place) in done.err) == (2, True)


NUMBERS = {
    "tools": [{"name": "put", "parameters": {"properties": {"n": {"type": "number"}}, "required": ["n"]}}]
}
PUT = "- user: put it\n  calls:\n    - put:\n        n: %s\n"


def test_a_refusal_of_the_schema_is_never_recorded(folder: Make) -> None:
    place = folder(tools=NUMBERS, one=PUT % "many")
    file = place / "conversations" / "one.yaml"
    assert ToolTalk().record(place) == []
    assert file.read_text() == PUT % "many"
    [fault] = ToolTalk().check(place).faults
    assert fault.endswith("n must be a number, not a string.")
    file.write_text(PUT % "3")
    assert ToolTalk().record(place) == [file]
    assert "raises" not in file.read_text()


def test_a_refusal_that_was_recorded_of_a_call_that_fits_is_a_fault(folder: Make) -> None:
    recorded = PUT % "3" + "      raises: n must be a number, not a string.\n"
    [fault] = ToolTalk().check(folder(tools=NUMBERS, one=recorded)).faults
    assert fault.endswith(
        "raises 'n must be a number, not a string.', but the arguments fit; take `raises` out"
    )
    own_words = PUT % "3" + "      raises: the tank must be full.\n"
    assert ToolTalk().check(folder("other", tools=NUMBERS, one=own_words)).faults == ()


def test_what_is_left_out_or_open_is_said_each_time(rig: Callable[..., Any], tmp_path: Path) -> None:
    box, store = tmp_path / "box", tmp_path / "runs.sqlite"
    number = {"type": "integer", "maximum": 10**120}
    ahead = {"type": "string", "pattern": "^(?=a)"}
    schemas = {"get_it": {"n": number, "t": ahead}, "odd": {"x": {"type": "strin"}}}
    tools = [
        {"name": name, "description": "d", "parameters": {"type": "object", "properties": properties}}
        for name, properties in schemas.items()
    ]
    (box / "conversations").mkdir(parents=True)
    (box / "tools.json").write_text(json.dumps(tools))
    turn = {"user": "hi", "calls": [{"get_it": {"n": 10**110}, "returns": 1}], "reply": "ok"}
    (box / "conversations" / "a.json").write_text(json.dumps([{"name": "a", "turns": [turn]}]))
    left_out = "odd: 2.parameters: x has the type 'strin'"
    assert left_out in rig("tools", "list", box).err
    checked = rig("tools", "check", box)
    assert checked.code == 1
    assert left_out in checked.out
    assert "get_it.n: a grammar writes numbers up to 10^100 alone" in checked.out
    assert "get_it.t: a grammar does not hold pattern" in checked.out
    truths = rig("check", box / "conversations", "--toolbox", box)
    assert truths.code == 0
    assert "only a model that no grammar holds can write this call of get_it" in truths.out
    ran = rig("run", "oracle", "--toolbox", box, "--runs", store, "--display", "plain")
    assert left_out in ran.out
    assert left_out in " ".join(rig("card", "latest", "--runs", store).out.split())
