"""Verbs that make files, killed at any moment or out of room: the same command makes the same files then.

Nothing half made has a name that somebody would use, and nothing is left behind once the command is through.
"""

import time
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.attack import authored, calibrated, stores
from benchmarks.attack.campaign import Broken, Finished, apart, folder, main
from benchmarks.attack.killed import predictions
from benchmarks.attack.scenes import SCENES, TOOLS

VERBS: dict[str, tuple[str, ...]] = {
    "author": ("author", "--toolbox", "@hall", "--scenes", "@hall/scenes", "--count", "25", "-o", "@made"),
    "quantize": ("models", "quantize", "tiny", "--to", "q8_0,q4_0", "--threads", "1"),
    "merge": ("models", "merge", "tiny", "--lora", "@adapter.gguf", "-o", "@made/merged.gguf"),
    "calibrate": ("models", "calibrate", "tiny", "-o", "@made/m.gguf", *calibrated.SHORT),
    "kld": (
        "screen",
        "tiny",
        "--kld",
        "--text",
        "@text",
        "--n-ctx",
        "64",
        "--save-all-logits",
        "@made/base",
        "--threads",
        "1",
    ),
    "export": ("export", "latest", "--format", "tooltalk", "--output", "@export", "--runs", "@runs.sqlite"),
    "csv": ("export", "latest", "--format", "csv", "--output", "@made/rows.csv", "--runs", "@runs.sqlite"),
    "import": ("import", "@runs.sqlite", "--runs", "@made/other.sqlite"),
    "report": ("report", "latest", "--output", "@made/page.html", "--runs", "@runs.sqlite"),
    "backup": ("runs", "--backup", "@made/copy.sqlite", "--runs", "@runs.sqlite"),
    "card": ("card", "latest/oracle", "-o", "@made/card.json", "--runs", "@runs.sqlite"),
    "board": ("leaderboard", "--csv", "@made/board.csv", "--runs", "@runs.sqlite"),
    "score": ("score", "latest", "--similarity", "exact", "--runs", "@runs.sqlite"),
    "world": ("world", "build", "--output", "@made/world.sqlite"),
}
"""Commands by name; "@" begins a path."""
_MADE_ANEW = (".html", ".sqlite")
"""Endings of files that say when they were made."""
_OF_WRITERS = ("-wal", "-shm", "-journal", ".lock")
"""Endings of what a store has beside it while it is written."""


class Made(NamedTuple):
    """What a command makes that nobody stops: files by name, and how long it takes in seconds."""

    files: dict[str, bytes]
    seconds: float


def _place(place: Path) -> None:
    """What the commands need."""
    from tests.support import tiny_gguf

    authored.toolbox(place, TOOLS, SCENES)
    for name in ("models", "made"):
        (place / name).mkdir()
    (place / "models" / "tiny.gguf").write_bytes(calibrated.model())
    tiny_gguf.write_adapter(place / "adapter.gguf", place / "models" / "tiny.gguf")
    (place / "text").write_text("The lane is free on Friday, at ten past five. " * 40)
    (place / "runs.sqlite").write_bytes(stores.whole())


def _play(place: Path, verb: str, **stop: Any) -> Finished:
    words = [str(place / word[1:]) if word[0] == "@" else word for word in VERBS[verb]]
    return apart(*words, **stop, RIG_MODELS=place / "models", RIG_CACHE=place / "cache")


def _files(place: Path) -> dict[str, bytes]:
    """What is there that a command has made; raises Broken for what it has left behind."""
    made = [path for path in place.rglob("*") if path.is_file() and "cache" not in path.parts]
    if left := [
        path.name
        for path in made
        if path.name.endswith(_OF_WRITERS)
        or any(part.startswith(".") for part in path.relative_to(place).parts)
    ]:
        raise Broken(f"left behind: {left}")
    if predictions(place / "runs.sqlite") != _stored():
        raise Broken("the run that was read is another one")
    return {
        str(path.relative_to(place)): b"" if path.suffix in _MADE_ANEW else path.read_bytes()
        for path in made
        if not path.name.startswith("runs.sqlite")
    }


@cache
def _stored() -> list[Any]:
    """What the store holds that commands read."""
    with folder() as place:
        (place / "runs.sqlite").write_bytes(stores.whole())
        return predictions(place / "runs.sqlite")


@cache
def _whole(verb: str) -> Made:
    with folder() as place:
        _place(place)
        started = time.monotonic()
        if (done := _play(place, verb)).code:
            raise Broken(f"{verb}, left alone: {done.err[-300:]}")
        seconds = time.monotonic() - started
        return Made(
            {name: data.replace(bytes(place), b"PLACE") for name, data in _files(place).items()}, seconds
        )


def case(random: Random) -> str:
    """A command that is stopped once or more, and then left alone."""
    verb = random.choice(list(VERBS))
    whole = _whole(verb)
    how = random.choice(("killed", "killed", "no room"))
    with folder() as place:
        _place(place)
        for _ in range(random.randrange(1, 4)):
            largest = max(map(len, whole.files.values()))
            stop: Any = {"kill_s": random.uniform(0, 1.1 * whole.seconds)}
            if how == "no room":
                stop = {"room": random.randrange(4096, max(4097, largest))}
            _play(place, verb, **stop)
        done = _play(place, verb)
        # What was complete before it was stopped is not made again.
        if done.code and not ("exist" in done.err and verb not in ("author", "quantize")):
            raise Broken(f"{verb}, {how}: left alone: {done.err[-300:]}")
        try:
            files = {name: data.replace(bytes(place), b"PLACE") for name, data in _files(place).items()}
        except Broken as error:
            raise Broken(f"{verb}, {how}: {error}") from error
        if other := [
            name for name in files.keys() | whole.files.keys() if files.get(name) != whole.files.get(name)
        ]:
            raise Broken(f"{verb}, {how}: other files than of a command that was left alone: {other}")
    return f"{verb} {how}"


if __name__ == "__main__":
    main("stopped", case, 60)
