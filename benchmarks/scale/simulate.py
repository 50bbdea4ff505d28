"""What a store of many turns costs: a run with a scripted model that answers at once, and the verbs on it.

    .venv/bin/python benchmarks/scale/simulate.py [--turns 1000000] [--arms 10] [--folder DIR]

Every conversation has two turns with a call each. Prints a table: turns stored for each second of CPU, bytes
for each turn, and for `rig show`, `compare` and `report` seconds of CPU and peak memory, each in a process of
its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import graded_talks  # noqa: E402
import small_talks  # noqa: E402

VERBS = {
    "show": ("show", "latest"),
    "compare": ("compare", "latest"),
    "compare --sequential": ("compare", "latest", "--sequential"),
    "report": ("report", "latest", "--output", os.devnull),
}


def main() -> None:
    """Play, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        store = Path(folder) / "runs.sqlite"
        conversations = asked.turns // asked.arms // 2
        models = [
            graded_talks.model(conversations, range(0, conversations, 7 + arm)) for arm in range(asked.arms)
        ]
        todo = small_talks.plan(store, *models, conversations=graded_talks.conversations(conversations))
        begun = process_time()
        small_talks.run(todo, lambda _: None, small_talks.Control())
        seconds = process_time() - begun
        turns = small_talks.stored(store).turns_done
        print(
            f"{turns:,} turns, {asked.arms} arms: {turns / seconds:,.0f} turns a second of CPU,", flush=True
        )
        print(f"{store.stat().st_size / turns:,.0f} bytes a turn", flush=True)
        print("| verb | CPU seconds | peak memory |\n| --- | --- | --- |", flush=True)
        for name, arguments in VERBS.items():
            used, peak = measured([*arguments, "--runs", str(store)])
            print(f"| {name} | {used:.1f} | {peak / 2**20:.0f} MiB |", flush=True)


def measured(arguments: list[str]) -> tuple[float, int]:
    """Seconds of CPU and peak memory in bytes of rig with these arguments."""
    code = (
        "import resource, sys; from rig.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env=environment
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    seconds, peak = done.stderr.decode().split()[-2:]
    return float(seconds), int(peak)


if __name__ == "__main__":
    main()
