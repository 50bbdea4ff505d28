"""Groups as text: a row for each group and a column for each arm."""

from contextlib import suppress

from rig.core.errors import RigError
from rig.plugins.groups.groups import WHAT, Groups, Share, groups_of
from rig.show.table import Row, columns, short_names
from rig.store import Runs, StoredRun

MARKS = ".-=+*#"
"""Marks from nothing right to everything right, in plain characters that every terminal has."""


def mark(share: Share) -> str:
    """Return the mark of a share, a space if it has no rate. Only 0 and 1 have the marks at the ends."""
    rate = share.rate
    if rate is None:
        return " "
    if rate in (0, 1):
        return MARKS[-1] if rate else MARKS[0]
    return MARKS[1 + int(rate * (len(MARKS) - 2))]


def groups_text(groups: Groups, width: int | None = None) -> str:
    """Return a row for each group and a column for each arm, with a line above that says what is counted."""
    rows = [Row("", short_names(groups.arms))]
    rows += [Row(name, [_cell(share) for share in shares]) for name, shares in groups.rows]
    return "\n".join([WHAT[groups.by], "", *columns(rows, width)])


def _cell(share: Share) -> str:
    if share.rate is None:
        return "-"
    return f"{share.part}/{share.whole} {100 * share.rate:5.1f}% {mark(share)}"


_READ_AT_ONCE = 2_000
"""The most conversations that are read for the skills of a run; with more, use `--by skill`."""


def skills_text(runs: Runs, run: StoredRun, width: int | None) -> str:
    """Return the skills of a run's arms as a table, empty if there is nothing to read or too much."""
    if len(run.conversations) * len(run.arms) * run.repeats <= _READ_AT_ONCE:
        with suppress(RigError):
            return groups_text(groups_of(runs, run, "skill"), width)
    return ""
