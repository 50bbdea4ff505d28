"""`rig author`: suites of conversations from scenes."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from rig.cli.options import AS_JSON, JSON_LINES
from rig.cli.output import print_json, say, show_progress
from rig.cli.verbs import Verbs, argument, members_of, option, verb
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import read_bytes, write
from rig.plugins.documents.folders import files_below
from rig.plugins.rescore.verb import load_one


@verb(Verbs, later=members_of("author"), invoke_without_command=True)
def command(
    context: click.Context,
    *,
    toolbox: str | None = option("The tools that the scenes call. rig runs the code in DIR.", "NAME|DIR"),
    scenes: Path | None = option("A folder or file of scenes (YAML).", "PATH"),
    output: Path | None = option("The folder for the conversations.", "DIR", flags="-o --output"),
    count: int | None = option("How many conversations.", "N", type=click.IntRange(1, 100_000)),
    seed: int | None = option("Other conversations for another number.", "N", type=click.IntRange(0)),
    name: str | None = option("What the conversations are called.", "NAME"),
    model: str | None = option(
        "Let a local model choose scenes and word lines anew. -n conversations are tried, and only those are"
        " kept that code proves right.",
        "MODEL",
    ),
    as_json: bool = JSON_LINES,
) -> None:
    """Make a suite of conversations from scenes.

    A scene says who wants what, in which words, and which calls that takes. rig executes each call as it is
    made, replays the conversation twice, and throws away what differs, what nobody could have known, and what
    is nearly the same as another. The same seed makes the same files. If it is interrupted, the same command
    continues.

    With --model, a line in other words is kept only if it means the same, and a conversation only if the
    model, reading it, makes the right calls. Of a small model's work, little is left.

    Without --scenes, rig makes its suite `medium`; with --seed, the second half of it is another one.

    \b
    Examples:
      rig author new --toolbox mine -o mine/scenes     a first scene, to be changed
      rig author --toolbox mine --scenes mine/scenes --count 200
      rig author --seed 7 -o medium-7                   half of medium made anew
    """  # noqa: D301 - for click
    from rig.plugins.author.scenes import read_scenes
    from rig.plugins.author.shipped import MEDIUM, SCENES
    from rig.plugins.author.suite import Maker, SuitePart, write_suite, write_worded
    from rig.plugins.author.writer import ModelAuthor
    from rig.plugins.own_tools.folder import holds_toolbox
    from rig.world.toolbox import find_toolbox

    if context.invoked_subcommand:
        return
    if scenes is None:
        if toolbox is not None:
            raise RigError("--toolbox needs --scenes; `rig author new` makes a first scene")
        if name is not None:
            raise RigError("--name needs --scenes; the conversations of medium have their names")
        maker = MEDIUM.maker(seed, count)
    else:
        if name is not None and not _FILE_NAME.fullmatch(name):
            raise RigError(f"--name {name[:60]!r}: files are called so, too; use letters, digits and -")
        box = find_toolbox(toolbox)
        parts = [SuitePart(100 if count is None else count, seed or 0)]
        maker = Maker(name or _name_of(box.name), box, read_scenes(scenes, box), parts, is_strict=False)
    if output is None:
        if toolbox is None or not holds_toolbox(Path(toolbox)):
            raise RigError("say where the conversations go, as in: rig author -o mine")
        output = Path(toolbox) / "conversations"
    place = scenes or SCENES
    scene_files = [place] if place.is_file() else [*files_below(place, ".yaml"), *files_below(place, ".yml")]
    settings: JsonObject = {
        "name": maker.name,
        "parts": [[part.count, part.seed, part.tag] for part in maker.parts],
        "toolbox": maker.toolbox.sha256,
        "scenes": hashlib.sha256(b"\0".join(map(read_bytes, scene_files))).hexdigest(),
    }

    def watch(number: int, thrown: Counter[str]) -> None:
        show_progress(maker.name, "conversation", number, maker.count, _counts(thrown) if model else "")

    if model is None:
        report = write_suite(maker, output, settings, watch)
    else:
        with closing(load_one(model)) as loaded:
            of_model = ("file_sha256", "adapter_sha256")
            settings |= {"model": {part: loaded.fingerprint.get(part) for part in of_model}}
            writer = ModelAuthor(loaded, maker.toolbox, toolbox)
            report = write_worded(replace(maker, is_strict=False), writer, output, settings, watch)
    if as_json:
        print_json({"folder": str(output), **report})
        return
    say(f"{output}: {counted(report['conversations'], 'conversation')}, sha256 {report['sha256'][:16]}")
    for title in ("turns", "calls", "tools", "tags"):
        say(f"{title:<8} {', '.join(f'{key} {number}' for key, number in report[title].items())}")
    say(f"{'no call':<8} {report['no_call_turns']} of {report['assistant_turns']} turns")
    if model is not None:
        say(f"{'tried':<8} {report['tried']}; lines in the model's words: {_counts(report['wordings'])}")
    thrown = _counts(report["thrown"]) or "nothing"
    say(f"{'thrown':<8} {thrown} (the nearest two share {report['likest']:.0%} of their words in a row)")


_FILE_NAME = re.compile(r"\w[\w .-]{,59}")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in counts.items())


def _name_of(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-") or "suite"


@command.verb()
def new(
    *,
    tool: str | None = argument("[TOOL]"),
    toolbox: str = option("The tools to write a scene for.", "NAME|DIR", required=True),
    output: Path = option("The folder for the scene.", "DIR", flags="-o --output", required=True),
    as_json: bool = AS_JSON,
) -> None:
    """Write a first scene for a TOOL, or for each tool, from what its arguments are.

    The scenes run at once; change their words and values, and add turns.
    """
    from rig.plugins.author.starter import first_scene
    from rig.world.toolbox import find_toolbox

    box = find_toolbox(toolbox)
    if tool is not None and tool not in box.tools:
        raise RigError(f"no tool is named {tool} in {box.name}; `rig tools list {toolbox}` lists them")
    files = []
    for declared in box.tools.values() if tool is None else [box.tools[tool]]:
        files.append(output / f"{_name_of(declared.name)}.yaml")
        write(first_scene(declared), files[-1], folders=True)
    if as_json:
        print_json({"files": list(map(str, files))})
    else:
        say("\n".join(f"wrote {file}" for file in files))
