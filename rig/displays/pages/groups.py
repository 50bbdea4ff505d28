"""Shares by tool, tag or suite as a table: the fuller a mark, the more of it was right."""

from rig.compare.groups import WHAT, Groups, Share
from rig.displays.table import Row, columns

MARKS = ".-=+*#"
"""From nothing right to all of it; plain characters, which every terminal has."""


def mark(share: Share) -> str:
    """The mark of a share; a space where there is none. The ends are for nothing and for all alone."""
    rate = share.rate
    if rate is None:
        return " "
    if rate in (0, 1):
        return MARKS[-1] if rate else MARKS[0]
    return MARKS[1 + int(rate * (len(MARKS) - 2))]


def groups_text(groups: Groups, width: int | None = None) -> str:
    """A row for each group, a column for each arm, with what is counted above."""
    rows = [Row("", groups.arms)]
    rows += [Row(name, [_cell(share) for share in shares]) for name, shares in groups.rows]
    return "\n".join([WHAT[groups.by], "", *columns(rows, width)])


def _cell(share: Share) -> str:
    if share.rate is None:
        return "-"
    return f"{share.part}/{share.whole} {100 * share.rate:5.1f}% {mark(share)}"
