"""`rig author` on what strangers wrote: scenes, toolboxes, states, suites to review, and a model's words.

What is done is a suite that `rig check` reads, and nothing outside its folder is written.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attack.campaign import Broken, apart, ended, folder, main, rig
from benchmarks.attack.hostile import changed, damaged, text, value
from benchmarks.attack.scenes import HOUSE, SCENES, TOOLS, as_yaml, bomb, exploding, long, warped
from rig.plugins.documents.documents import to_yaml


def toolbox(place: Path, tools: Any, scenes: Any) -> Path:
    box = place / "hall"
    (box / "scenes").mkdir(parents=True)
    (box / "tools.json").write_text(json.dumps({"tools": tools}))
    file = box / "scenes" / "hall.yaml"
    data = scenes if isinstance(scenes, str) else as_yaml(scenes)
    file.write_bytes(data.encode("utf-8", "surrogatepass"))
    return box


def _scenes(random: Random, place: Path) -> str:
    """A folder of scenes for a toolbox, or for the mock world."""
    house = random.random() < 0.25
    kind = random.choice(("warped", "warped", "warped", "changed", "bomb", "exploding", "damaged"))
    sound = HOUSE if house else SCENES
    scenes: Any = {
        "warped": lambda: warped(random, sound),
        "changed": lambda: changed(random, sound),
        "bomb": lambda: bomb(random),
        "exploding": lambda: [SCENES[0], [exploding(random)]],
        "damaged": lambda: damaged(random, as_yaml(sound).encode(), 3).decode("utf-8", "replace"),
    }[kind]()
    box = toolbox(place, TOOLS, scenes)
    named = () if house and kind != "exploding" else ("--toolbox", box)
    return f"{kind} {_authored(place, named, box / 'scenes', 4)}"


def _authored(place: Path, named: tuple[Any, ...], scenes: Path, count: int) -> str:
    """How a suite of these scenes ended. What rig wrote has to be sound."""
    suite = place / "suite"
    asked = ("author", *named, "--scenes", scenes, "--count", count, "-o", suite)
    done = apart(*asked, RIG_CACHE=place / "cache")
    if done.code == 0 and (checked := apart("check", suite, *named)).code:
        raise Broken(f"rig check finds in what rig wrote: {(checked.out + checked.err)[-300:]}")
    return ended(done)


def _tools(random: Random, place: Path) -> str:
    """First scenes for the tools of a stranger's toolbox, and a suite of them."""
    box = toolbox(place, changed(random, TOOLS), "")
    first = apart("author", "new", "--toolbox", box, "-o", place / "new", RIG_CACHE=place / "cache")
    if first.code:
        return f"tools {ended(first)}"
    named = ("--toolbox", box)
    return f"tools written, suite {_authored(place, named, place / 'new', 2)}"


@cache
def _suite() -> dict[str, str]:
    """The files of a suite that was begun, its state among them, by name."""
    with folder() as place:
        box = toolbox(place, TOOLS, SCENES)
        asked = ("author", "--toolbox", box, "--scenes", box / "scenes", "--count", 4, "-o", place / "suite")
        if rig(*asked).code:
            raise Broken("no suite of sound scenes")
        return {path.name: path.read_text() for path in (place / "suite").iterdir()}


def _written(random: Random, place: Path) -> tuple[Path, Path, Path]:
    """That suite with a file of it changed, perhaps with links out of it; its toolbox; what they point to."""
    box, suite, victim = toolbox(place, TOOLS, SCENES), place / "suite", place / "victim"
    suite.mkdir()
    victim.write_text("mine")
    for name, content in _suite().items():
        (suite / name).write_text(content)
    name = random.choice(sorted(_suite()))
    if name.endswith(".json") and random.random() < 0.5:
        content = json.dumps(warped(random, json.loads(_suite()[name])))
    else:
        content = json.dumps(changed(random, json.loads(_suite()[name])))
    (suite / name).write_bytes(
        damaged(random, content.encode(), 2) if random.random() < 0.2 else content.encode()
    )
    for link in (
        "author.json.part",
        "review.json.txt.part",
        "review.json.txt",
        "hall-0004.json.dropped",
        name,
    ):
        if random.random() < 0.05:
            (suite / link).unlink(missing_ok=True)
            (suite / link).symlink_to(random.choice((victim, victim, suite, Path("/dev/zero"))))
    return box, suite, victim


def _continued(random: Random, place: Path) -> str:
    """A suite that is continued where its state, or a conversation of it, says what rig did not write."""
    box, suite, victim = _written(random, place)
    asked = ("author", "--toolbox", box, "--scenes", box / "scenes", "--count", 4, "-o", suite)
    done = apart(*asked, RIG_CACHE=place / "cache")
    if victim.read_text() != "mine":
        raise Broken("another file was written through a link")
    return f"continued {ended(done)}"


def _reviewed(random: Random, place: Path) -> str:
    """A suite of somebody else's that is reviewed, by any keys, in an editor that writes anything."""
    box, suite, victim = _written(random, place)
    editor = place / "editor"
    lines = random.choice(
        (to_yaml(warped(random, [{"user": "Hi."}, {"assistant": "Hello."}])), bomb(random), "s/./x/")
    )
    (place / "new").write_bytes(lines.encode("utf-8", "surrogatepass"))
    editor.write_text(f'#!/bin/sh\n{random.choice(("cat", "cat", "false", "true"))} {place / "new"} > "$1"\n')
    editor.chmod(0o700)
    keys = "".join(random.choice("kkedduux\n\x1b") for _ in range(8)).encode() + random.choice(
        (b"", b"q", b"\xff")
    )
    done = apart(
        "author", "review", suite, "--toolbox", box, keys=keys, EDITOR=editor, RIG_CACHE=place / "cache"
    )
    if victim.read_text() != "mine":
        raise Broken("another file was written through a link")
    return f"reviewed {ended(done)}"


def _worded(random: Random, place: Path) -> str:
    """A model that chooses scenes and words lines, and says anything."""
    from rig import methods
    from rig.core.calls import Call
    from rig.core.errors import ErrorKind
    from rig.core.models import Model, Prediction
    from rig.plugins.author.scenes import read_scenes
    from rig.plugins.author.suite import Maker, SuitePart, write_worded
    from rig.plugins.author.writer import ModelAuthor
    from rig.world.toolbox import find_toolbox

    class Liar(Model):
        name = "liar"

        def __init__(self, tasks: Any = (), is_honest: bool = False) -> None:
            super().__init__()
            self._oracle = methods.first().models(list(tasks))["oracle"]()
            self._is_honest = is_honest

        def predict(self, request: Any, on_piece: Any) -> Prediction:
            said = getattr(request.messages[0], "text", "") if request.messages else ""
            line = said.removeprefix("Line: ").removesuffix("\nIn other words:")
            words = random.choice(
                (f"Hello. {line}", f"Please: {line}", line + text(random), long(random), text(random))
            )
            calls: Any = ({"scene": "lane"}, {"scene": value(random)}, {})
            if self._is_honest and request.key.conversation != "author":
                return self._oracle.predict(request, on_piece)
            if self._is_honest and request.tools:
                return Prediction(call=Call("choose_scene", {"scene": "lane"}))
            if request.tools and random.random() < 0.8:
                name = random.choice((request.tools[0].name, text(random)))
                return Prediction(call=Call(name, random.choice(calls)))
            return Prediction(reply=words) if random.random() < 0.8 else Prediction(error=ErrorKind.INVALID)

    box = toolbox(place, TOOLS, SCENES)
    tools = find_toolbox(str(box))
    scenes, parts = read_scenes(box / "scenes", tools), [SuitePart(3, 0)]
    first, maker = (Maker("hall", tools, scenes, parts, is_strict=False) for _ in range(2))
    liar = Liar()
    if random.random() < 0.7:
        first.writer = ModelAuthor(Liar(is_honest=True), tools, str(box))
        drawn = [proposal for number in range(3) if (proposal := first.offer(number))]
        liar = Liar([methods.first().parse(one.source, one.name, "") for one in drawn], is_honest=True)
    told = write_worded(maker, ModelAuthor(liar, tools, str(box)), place / "suite", {"a": 1}, lambda *_: None)
    if told["conversations"] and rig("check", place / "suite", "--toolbox", box).code:
        raise Broken("rig check finds in what a model worded")
    return f"worded {told['conversations']}"


_KINDS: tuple[Callable[[Random, Path], str], ...] = (
    *(_scenes, _scenes, _scenes, _scenes, _tools, _continued, _reviewed, _reviewed, _worded),
)


def case(random: Random) -> str:
    """Something of a stranger's, for a verb of `rig author`."""
    with folder() as place:
        kind = random.choice(_KINDS)
        _suite()  # which loads what the forks need
        try:
            return kind(random, place)
        except Broken as error:
            raise Broken(f"{kind.__name__.strip('_')}: {error}".replace(str(place), "PLACE")) from error


if __name__ == "__main__":
    main("authored", case, 200)
