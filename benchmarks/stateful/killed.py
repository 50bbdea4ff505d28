"""A run of any suite, killed and resumed: everything it stores is as in the same run left alone.

    python -m benchmarks.stateful.killed --kills 2 -- model.gguf --suite data/BFCL_v4_memory.json --exact

After `--` stand the arguments of `rig run`. The run is played once, then again with kills at random moments.
All steps with what tools gave, turns, verdicts, faults and counts are compared, without times.
"""

import argparse
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attack.killed import again, rig, stored_turns

_OF = "JOIN conversations AS task ON task.id = {0}.conversation JOIN arms ON arms.id = {0}.arm"
_PLACE = "arms.name, task.name, repeat"
_STEP = (
    "predictions.step, kind, raw, tool, arguments, reply, predictions.error, error_detail, finish_reason,"
    " executed, response, exception, username, match, bad_action, ground_truth_turn, ground_truth_call,"
    " reason, differences, prompt_tokens, completion_tokens, token_ids, logprobs, role, parent, reasoning,"
    " content, part"
)
_FAULT = "turn, kind, text, step, tool, argument, expected, got"
QUERIES = {
    "turns": f"SELECT {_PLACE}, turn, turns.error, wanted FROM turns {_OF.format('turns')}",
    "steps": f"SELECT {_PLACE}, turns.turn, {_STEP} FROM turns {_OF.format('turns')}"
    " JOIN predictions ON predictions.turn = turns.id",
    "counts": f"SELECT {_PLACE}, counts.name, value FROM scores {_OF.format('scores')}"
    " JOIN counts ON score = scores.id",
    "faults": f"SELECT {_PLACE}, {_FAULT} FROM scores {_OF.format('scores')}"
    " JOIN faults ON score = scores.id",
}
"""What is compared: rows without times, and without what depends on them."""


def content(store: Path) -> dict[str, list[Any]]:
    """The rows of each query, in an order of their own."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        return {name: sorted(database.execute(query).fetchall(), key=repr) for name, query in QUERIES.items()}


def play(store: Path, arguments: list[str], kill_s: float | None = None) -> bool:
    """Begin or resume a run, to its end or until it is killed: whether it was. A fault ends the program.

    The seconds to the kill are of play alone: they begin with the first turn that is stored.
    """
    process = rig("run", *(again(store) or arguments), "--display", "none", "--runs", store)
    began, before = time.monotonic(), stored_turns(store) or 0
    while kill_s is not None and process.poll() is None:
        began = began if (stored_turns(store) or 0) > before else time.monotonic()
        if time.monotonic() - began > kill_s:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.02)
    said = process.communicate()[1]
    if process.returncode not in (0, -signal.SIGKILL):
        sys.exit(f"rig run ended with {process.returncode}: {said.decode('utf-8', 'replace')[-500:]}")
    return process.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("arguments", nargs="+", help="after --, those of `rig run`")
    asked = parser.parse_args()
    random = Random(asked.seed)
    with tempfile.TemporaryDirectory() as place:
        whole, killed = Path(place, "whole.sqlite"), Path(place, "killed.sqlite")
        began = time.monotonic()
        play(whole, asked.arguments)
        alone, seconds = content(whole), time.monotonic() - began
        with closing(sqlite3.connect(whole)) as database:
            (played,) = database.execute("SELECT sum(wall_s) FROM turns").fetchone()
        kills = 0
        for _ in range(asked.kills):
            if not play(killed, asked.arguments, random.uniform(0, played / (asked.kills + 1))):
                break
            kills += 1
            print(f"killed with {stored_turns(killed)} turns of {len(alone['turns'])}", flush=True)
        else:
            play(killed, asked.arguments)
        resumed = content(killed)
    errors = Counter(str(error) for *_, error, _wanted in alone["turns"] if error)
    print({name: len(rows) for name, rows in alone.items()}, f"{seconds:.0f} s, errors", dict(errors))
    print("".join(f"{n}={v:g} " for n, v in sorted(_totals(alone["counts"]).items()) if "." not in n))
    differing = {name for name, rows in alone.items() if rows != resumed[name]}
    for name in differing:
        mine, theirs = Counter(map(repr, alone[name])), Counter(map(repr, resumed[name]))
        print(name, "left alone:", list(mine - theirs)[:2], "killed:", list(theirs - mine)[:2])
    if differing:
        sys.exit(f"{kills} kills: differs")
    print(f"{kills} kills: equal")


def _totals(counts: list[Any]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for *_, name, value in counts:
        totals[name] += value
    return totals


if __name__ == "__main__":
    main()
