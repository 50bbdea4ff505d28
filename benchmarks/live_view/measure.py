"""What watching a run costs: how much slower it is, how long a key takes to be seen, and how memory grows.

    .venv/bin/python benchmarks/live_view/measure.py keys memory [--write]
    .venv/bin/python benchmarks/live_view/measure.py ratio [--model smollm2-135m] [--pairs 6] [--write]

Programs run in pseudo-terminals whose output is taken in at once, as fast terminals do. With --write the
results go into docs/lab/live-view.md.

- ratio: the same conversations of a real model with `--display tui` and with `--display none`, in turns
  (none, tui, tui, none, …), by the seconds of the turns and by the CPU time of the process.
- keys: `f` toggles whether the view follows. From writing the key until the word for it was painted, at
  random moments, while a scripted model writes 60 pieces of text a second.
- memory: 500 conversations of a scripted model as fast as they go, with and without the view.
"""

import argparse
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pseudo_terminal import PseudoTerminal
from scipy import stats

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOCS = ROOT / "docs" / "lab" / "live-view.md"
RIG = [sys.executable, "-m", "rig"]
SCRIPTED = [sys.executable, str(HERE / "scripted.py")]
SIZES = ((80, 24), (120, 40), (200, 60))
PIECES_PER_S = 60
CONVERSATIONS = 1_000
CARD = b"read the run"
"""What the card at the end of a run says, which stays until it is dismissed."""


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "SSH_CONNECTION")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + " --- |" * head.count("|", 1), *rows])


def quantile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[round(100 * share) - 1]


def keys(arguments: argparse.Namespace) -> str:
    rows = []
    for size in SIZES:
        for slots in (1, 4):
            took, rate = pressed(size, slots, arguments.presses)
            shown = [1000 * each for each in (quantile(took, 0.5), quantile(took, 0.95), max(took))]
            numbers = " | ".join(f"{each:.0f}" for each in shown)
            rows.append(f"| {size[0]}×{size[1]} | {slots} | {numbers} | {rate:.1f} |")
            print(rows[-1], flush=True)
    head = "| size | conversations at once | median, ms | p95, ms | largest, ms | repaints a second |"
    return f"{arguments.presses} keys at each size.\n\n" + table(head, rows)


def pressed(size: tuple[int, int], slots: int, presses: int) -> tuple[list[float], float]:
    """Seconds from key to paint, and how often a second it was repainted while nobody pressed one."""
    rng = random.Random(0)
    command = [*SCRIPTED, "tui", str(CONVERSATIONS), str(PIECES_PER_S), str(slots)]
    with (
        tempfile.TemporaryDirectory() as folder,
        PseudoTerminal(command, size, environment(), Path(folder)) as terminal,
    ):
        terminal.wait(b"following", time.perf_counter())
        time.sleep(3)
        before, began = len(terminal.repaints), time.perf_counter()
        time.sleep(5)
        rate = (len(terminal.repaints) - before) / (time.perf_counter() - began)
        took = []
        for number in range(presses):
            time.sleep(rng.uniform(0.05, 0.25))
            seconds = terminal.press(b"f", b"following" if number % 2 else b"reading")
            assert seconds is not None, "the run was over too early"
            took.append(seconds)
    return took, rate


def memory(arguments: argparse.Namespace) -> str:
    grown = {display: _resident(display, arguments.conversations) for display in ("none", "tui")}
    points = [n for n in grown["tui"] if n % (arguments.conversations // 5) == 0]
    rows = [
        f"| {'with the view' if display == 'tui' else 'without a display'} | "
        + " | ".join(f"{sizes[n] / 2**20:.0f}" for n in points)
        + " |"
        for display, sizes in grown.items()
    ]
    print("\n".join(rows), flush=True)
    return "Resident size in MiB after so many conversations.\n\n" + table(
        "| | " + " | ".join(map(str, points)) + " |", rows
    )


def _resident(display: str, conversations: int) -> dict[int, int]:
    command = [*SCRIPTED, display, str(conversations), "0", "1"]
    with (
        tempfile.TemporaryDirectory() as folder,
        PseudoTerminal(command, (120, 40), environment(), Path(folder)) as terminal,
    ):
        if display == "tui":
            terminal.leave(CARD)
        return dict(terminal.result()["resident"])


def ratio(arguments: argparse.Namespace) -> str:
    order = [("none", "tui") if pair % 2 == 0 else ("tui", "none") for pair in range(arguments.pairs)]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        _cost("none", arguments, store)  # the state of the prompt's beginning is on disk from here on
        walls, cpus = [], []
        for number, displays in enumerate(order, 1):
            costs = {display: _cost(display, arguments, store) for display in displays}
            (none_wall, none_cpu), (tui_wall, tui_cpu) = costs["none"], costs["tui"]
            walls.append(tui_wall / none_wall)
            cpus.append(tui_cpu / none_cpu)
            print(
                f"pair {number}: turns took {none_wall:.2f} s, watched {tui_wall:.2f} s; "
                f"CPU {none_cpu:.2f} s, watched {tui_cpu:.2f} s",
                flush=True,
            )
    rows = [f"| seconds of the turns | {_spread(walls)} |", f"| CPU time of the process | {_spread(cpus)} |"]
    return f"{arguments.model}, conversations: {arguments.limit}, pairs of runs: {len(walls)}.\n\n" + table(
        "| watched, of not watched | median | its 95% interval | smallest | largest |", rows
    )


def _spread(ratios: list[float]) -> str:
    """Median of the pairs, its interval by order statistics (nan for too few pairs), and the extremes."""
    low, high = stats.quantile_test(ratios, q=1, p=0.5).confidence_interval(0.95)
    middle = statistics.median(ratios)
    return f"{middle:.3f} | {low:.3f} to {high:.3f} | {min(ratios):.3f} | {max(ratios):.3f}"


def _cost(display: str, arguments: argparse.Namespace, folder: Path) -> tuple[float, float]:
    """Seconds of the turns, and CPU seconds of the whole process from its start to the end."""
    options = [
        "--limit",
        str(arguments.limit),
        "--parallel",
        str(arguments.parallel),
        "--runs",
        "runs.sqlite",
    ]
    command = [*RIG, "run", arguments.model, *options, "--display", display, "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with PseudoTerminal(command, (120, 40), environment(), folder) as terminal:
        if display == "tui":
            terminal.leave(CARD)
        (arm,) = terminal.result()["arms"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(arm["speed"]["wall_s"]), cpu_s


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {"ratio": ratio, "keys": keys, "memory": memory}


def write(part: str, text: str) -> None:
    """Put a result between its marks in the documentation."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    page = DOCS.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    DOCS.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=sorted(PARTS))
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--limit", type=int, default=6, help="conversations of a run (ratio)")
    parser.add_argument("--pairs", type=int, default=6, help="runs with and without the view (ratio)")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--presses", type=int, default=200, help="keys at each size (keys)")
    parser.add_argument("--conversations", type=int, default=500, help="how many (memory)")
    parser.add_argument(
        "--write", action="store_true", help="put the results into its page of the documentation"
    )
    arguments = parser.parse_args()
    for part in arguments.parts:
        text = PARTS[part](arguments)
        print(text)
        if arguments.write:
            write(part, text)


if __name__ == "__main__":
    main()
