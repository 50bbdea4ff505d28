"""What campaigns share: cases from a seed, counted, and rig's command line, run so that faults are seen."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from rig.cli import main as rig_main

Case = Callable[[Random], str]
"""Plays a case and says in a word how it ended. It raises Broken, or anything at all, where rig did wrong."""
_SHOWN = 20


class Broken(Exception):
    """What must hold did not."""


class Finished(NamedTuple):
    """How a command of rig ended."""

    code: int
    out: str
    err: str


def rig(*arguments: object) -> Finished:
    """Run rig's command line in this process. Its bugs raise; exit code 2 without one line is Broken."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    code: Any = 0
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            rig_main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        texts = []
        for stream in streams:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    finished = Finished(code or 0, *texts)
    faults = [line for line in finished.err.splitlines() if line.startswith("rig: ")]
    if finished.code not in (0, 1, 2) or (finished.code == 2 and len(faults) != 1):
        raise Broken(f"{arguments}: exit code {finished.code}, {finished.err[-300:]!r}")
    return finished


def ended(finished: Finished) -> str:
    """In a word."""
    return {0: "done", 1: "found", 2: "refused"}[finished.code]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        yield Path(name)


def main(name: str, case: Case, count: int, arguments: list[str] | None = None) -> None:
    """Play cases, until Ctrl-C, and print what came of them. The exit code is 1 if one was broken."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.attack.{name}")
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--count", type=int, default=count, help=f"of cases (default: {count})")
    asked = parser.parse_args(arguments)
    outcomes: Counter[str] = Counter()
    broken, slowest = [], 0.0
    begun = time.process_time()
    for number in range(asked.count):
        started = time.monotonic()
        try:
            outcomes[case(Random(f"{name} {asked.seed} {number}"))] += 1
        except KeyboardInterrupt:
            break
        except Exception as error:
            place = "".join(traceback.format_tb(error.__traceback__)[-1:])
            broken.append({"case": number, "said": f"{type(error).__name__}: {error}"[:500], "place": place})
        slowest = max(slowest, time.monotonic() - started)
    said = {
        "campaign": name,
        "seed": asked.seed,
        "count": sum(outcomes.values()) + len(broken),
        "outcomes": dict(sorted(outcomes.items())),
        "broken": len(broken),
        "first": broken[:_SHOWN],
        "slowest_s": round(slowest, 2),
        "cpu_s": round(time.process_time() - begun, 1),
    }
    print(json.dumps(said))
    sys.exit(1 if broken else 0)
