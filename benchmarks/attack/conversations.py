"""Conversations and worlds that were changed: checked, or played by the oracle, or refused in a line."""

import json
import shutil
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.attack.campaign import ended, folder, main, rig
from benchmarks.attack.hostile import changed, damaged
from rig.core.paths import CONVERSATIONS, WORLD_DATABASE


@cache
def _files() -> list[Path]:
    return sorted(path for suite in ("easy", "hard") for path in (CONVERSATIONS / suite).glob("*.json"))


def case(random: Random) -> str:
    """A changed conversation, beside one that is as it was; every tenth time a damaged world."""
    first, second = random.sample(_files(), 2)
    with folder() as place:
        talks = place / "talks"
        talks.mkdir()
        shutil.copyfile(second, talks / second.name)
        if random.random() < 0.1:
            world = place / "world.sqlite"
            world.write_bytes(damaged(random, WORLD_DATABASE.read_bytes(), 4, 4))
            return f"world {ended(rig('world', 'check', '--world', world))}"
        text = json.dumps(changed(random, json.loads(first.read_text(encoding="utf-8"))))
        data = text.encode("utf-8", "surrogatepass")
        (talks / first.name).write_bytes(damaged(random, data, 2) if random.random() < 0.2 else data)
        checked = ended(rig("check", talks))
        if random.random() < 0.5:
            return f"check {checked}"
        options = ("--similarity", "exact", "--display", "none", "--runs", place / "runs.sqlite")
        return f"run {ended(rig('run', 'oracle', '--conversations', talks, *options))}"


if __name__ == "__main__":
    main("conversations", case, 200)
