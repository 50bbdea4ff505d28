"""What `--json` prints, checked against the schema in the documentation."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import jsonschema

from rig.cli import cli
from rig.cli.json_lines import LINES

SCHEMA = Path(__file__).resolve().parents[2] / "docs/reference/json.schema.json"
FOR_HELP = {"--help", "-h", "--help-all"}


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Every verb that does something by itself, by its words."""
    yield from _below(cli, ())


def _below(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        member = command.get_command(context, name)
        assert member is not None
        yield from _below(member, (*path, name))
    if path and command.invoke_without_command:
        yield " ".join(path), command


@cache
def known() -> dict[str, click.Command]:
    return dict(verbs())


def verb_of(arguments: Sequence[str]) -> str:
    """The verb that a command line has, which may be implied; "" if it has none."""
    command: click.Command = cli
    words: list[str] = []
    left = list(arguments)
    while left and left[0].startswith("-"):  # options of rig itself, with their values
        del left[: 1 if left[0] == "--ascii" or "=" in left[0] else 2]
    while isinstance(command, click.Group):
        context = click.Context(command)
        name = left[0] if left else ""
        member = None if name.startswith("-") else command.get_command(context, name)
        if member is None:
            name = getattr(command, "default", "")
            member = command.get_command(context, name) if name else None
        else:
            left = left[1:]
        if member is None:
            break
        words.append(name)
        command = member
    return " ".join(words)


@cache
def schema() -> dict[str, Any]:
    return dict(json.loads(SCHEMA.read_text(encoding="utf-8")))


@cache
def validator(definition: str) -> jsonschema.Draft202012Validator:
    """What checks one kind of line: `start`, `progress`, `error`, `text` or the result of a verb."""
    assert definition in schema()["$defs"], f"json.schema.json does not say what `{definition}` prints"
    own = {**schema(), "$ref": f"#/$defs/{quote(definition)}"}
    return jsonschema.Draft202012Validator({name: own[name] for name in ("$schema", "$ref", "$defs")})


@cache
def keys(verb: str) -> frozenset[str]:
    """The keys of a verb's results; none if they are names."""
    own = schema()["$defs"][f"rig {verb}"]
    forms = own.get("anyOf", [own])
    if any("additionalProperties" in form for form in forms):
        return frozenset()
    return frozenset(key for form in forms for key in form.get("properties", ()))


def check(arguments: Sequence[str], out: str, code: int) -> None:
    """Check what a command line with `--json` printed on stdout: each line, and their order."""
    verb, lines = verb_of(arguments), [json.loads(line) for line in out.splitlines()]
    assert lines, "nothing was printed"
    *before, last = lines
    for position, line in enumerate(before):
        validator("start" if position == 0 else "progress").validate(line)
        assert position or line["verb"] == verb
    if isinstance(last, dict) and "error" in last:
        validator("error").validate(last)
        assert last["error"]["code"] == code or code < 0
    elif FOR_HELP & set(arguments):
        validator("text").validate(last)
    else:
        command = known().get(verb)
        if command is None:  # a plugin's
            return
        told = {parameter.name: getattr(parameter, "help", "") for parameter in command.params}
        assert bool(before) == (told["as_json"] == LINES)
        validator(f"rig {verb}").validate(last)
        if isinstance(last, dict) and keys(verb):
            assert set(last) <= keys(verb), "json.schema.json has no such key"
