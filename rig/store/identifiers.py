"""Names for runs: short, easy to type, and not a word in any language."""

import secrets
from pathlib import Path

from rig.store.reader import Runs

_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LENGTH = 5


def new_run_id(path: Path) -> str:
    """An id that no run in this store has; the store need not exist yet."""
    ids: set[str] = set()
    if path.is_file() and path.stat().st_size:
        with Runs.open(path) as runs:
            ids = runs.ids()
    while True:
        candidate = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if candidate not in ids:
            return candidate
