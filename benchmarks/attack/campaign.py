"""What campaigns share: cases from a seed, counted, and rig's command line, run so that faults are seen."""

import argparse
import contextlib
import io
import json
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psutil

from rig.cli import main as rig_main

Case = Callable[[Random], str]
"""Plays a case and says in a word how it ended. It raises Broken, or anything at all, where rig did wrong."""
_SHOWN = 20

SECONDS = 60
"""Processor seconds that a command may take, on however busy a machine; ten times as long by the clock."""
WALL = 10 * SECONDS
MEMORY = 2 << 30
"""Bytes that it may hold, beside those of the process that it is a fork of."""

Watch = Callable[[str, tuple[Any, ...]], str | None]
"""Sees an audited event and what it is about."""


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


def apart(
    *arguments: object,
    keys: bytes = b"",
    kill_s: float | None = None,
    room: int | None = None,
    watch: Watch | None = None,
    seconds: int = SECONDS,
    memory: int | None = None,
    **more: object,
) -> Finished:
    """Run rig's command line in a fork of this process, with more variables in its environment.

    It is killed after so many seconds, or can write no file of more than `room` bytes; `watch` says what is
    wrong with what it does, as Python audits it, or nothing. It may compute for `seconds`, and hold `memory`
    bytes. Raises Broken for that, a traceback, a hang, and a control character for the terminal.
    """
    with (
        tempfile.TemporaryFile() as entered,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        entered.write(keys)
        entered.seek(0)
        # A fork has the memory of its parent, but pages of files only once it looks at them.
        held_by_parent = psutil.Process().memory_info()
        before = held_by_parent.rss - getattr(held_by_parent, "shared", 0)
        child = os.fork()
        if not child:
            for number, stream in enumerate((entered, out, err)):
                os.dup2(stream.fileno(), number)
            os.environ |= {name: str(value) for name, value in more.items()}
            if watch:
                sys.addaudithook(partial(_end_if_wrong, watch))
            _play([str(argument) for argument in arguments], room, seconds)
        clock = threading.Timer(WALL if kill_s is None else kill_s, os.kill, (child, signal.SIGKILL))
        clock.start()
        _, status, usage = os.wait4(child, 0)
        clock.cancel()
        for stream in (out, err):
            stream.seek(0)
        code = os.waitstatus_to_exitcode(status)
        finished = Finished(code, *(stream.read().decode("utf-8", "replace") for stream in (out, err)))
    if kill_s is not None and code == -signal.SIGKILL:
        return finished
    faults = [line for line in finished.err.splitlines() if line.startswith("rig: ")]
    if "Traceback" in finished.err or finished.code not in (0, 1, 2, 3 if arguments[0] == "gate" else 0):
        raise Broken(f"exit code {finished.code}: {finished.err[-400:]!r}")
    if finished.code == 2 and len(faults) != 1:
        raise Broken(f"{len(faults)} lines say what is wrong: {finished.err[-400:]!r}")
    if (held := usage.ru_maxrss * 1024 - before) > (memory or MEMORY):
        raise Broken(f"{held / 2**30:.1f} GiB of memory")
    if steers := STEERS.search(finished.out + finished.err):
        raise Broken(f"wrote {steers[0]!r}")
    return finished


def within(
    place: Path, asked: Sequence[str], watch: Watch, told: Sequence[str] = (), **more: Any
) -> Finished:
    """`apart`, in a folder that has rig's files. Raises Broken with the call, as `told` has it."""
    try:
        with contextlib.chdir(place):
            return apart(
                *asked, watch=watch, RIG_MODELS=place, RIG_CACHE=place / "cache", BROWSER="true", **more
            )
    except Broken as error:
        raise Broken(f"rig {list(told or asked)}: {error}".replace(str(place), "PLACE")) from error


def _end_if_wrong(watch: Watch, event: str, arguments: tuple[Any, ...]) -> None:
    if fault := watch(event, arguments):
        os.write(2, f"Traceback: {fault}\n".encode("utf-8", "replace"))
        os._exit(99)


def _play(arguments: list[str], room: int | None, seconds: int) -> None:
    """rig in this process, whose end it is."""
    code: Any = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            for number, mode in enumerate("rww")
        )
        rig_main(arguments)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal, or the order of what it shows."""


def ended(finished: Finished) -> str:
    """In a word."""
    return {0: "done", 1: "found", 2: "refused", 3: "undecided"}[finished.code]


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
