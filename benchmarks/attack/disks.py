"""Disks that fail: one system call of a run fails, and the run says so in a line, or does not need it.

strace makes the call fail. Whatever was stored before is there afterwards, and the run can be resumed.
"""

import shutil
import subprocess
import sys
from random import Random

from benchmarks.attack.campaign import Broken, folder, main
from benchmarks.attack.killed import left_alone, play, predictions

_CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "openat", "unlink", "pread64", "fcntl")
_ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES")
_MOST_LINES = 6


def case(random: Random) -> str:
    """One call, or all from one on, in a run of the oracle."""
    whole, _ = left_alone()
    call, error = random.choice(_CALLS), random.choice(_ERRORS)
    when = f"{random.randrange(1, 40)}{random.choice(('', '+'))}"
    with folder() as place:
        store = place / "runs.sqlite"
        injected = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(store), "-P", f"{store}-wal"]
        injected += [
            "-P",
            f"{store}-shm",
            "-e",
            f"trace={call}",
            "-e",
            f"inject={call}:error={error}:when={when}",
        ]
        rig = [
            sys.executable,
            "-P",
            "-m",
            "rig",
            "run",
            "oracle",
            "--repeats",
            "3",
            "--limit",
            "8",
            "--display",
            "none",
        ]
        command = [*injected, *rig, "--similarity", "exact", "--runs", str(store)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if "Traceback" in done.stderr or done.returncode not in (0, 2):
            raise Broken(f"{call} {error} {when}: exit {done.returncode}: {done.stderr[-400:]}")
        if len(done.stderr.splitlines()) > _MOST_LINES and done.returncode:
            raise Broken(
                f"{call} {error} {when}: {len(done.stderr.splitlines())} lines: {done.stderr[-400:]}"
            )
        if done.returncode == 0 and predictions(store) != whole:
            raise Broken(f"{call} {error} {when}: done, and other predictions are stored")
        if done.returncode == 2 and store.exists() and store.stat().st_size:
            process = play(store, "--resume", "latest")
            said = process.communicate()[1].decode("utf-8", "replace")
            if "Traceback" in said:
                raise Broken(f"{call} {error} {when}: resumed: {said[-300:]}")
    return "not needed" if done.returncode == 0 else "said so"


if __name__ == "__main__":
    if not shutil.which("strace"):
        sys.exit("disks: needs strace, which is not here")
    main("disks", case, 40)
