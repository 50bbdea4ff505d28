"""Where the arms of a run succeed: a heat map of tools, skills, tags and suites, all arms side by side."""

from collections.abc import Iterator, Sequence

from rig.compare.groups import WHAT, Groups, Share
from rig.displays.compare import MARKS, groups_text, mark
from rig.displays.table import ends, short_names
from tui.screens.pages import TextScreen
from tui.text.lines import BLANK, HEAT, Line, Span, Tint, inert_line, pad

_FULL, _SHORT = 14, 7
"""Cells of an arm from which there is room for counts, and for a percentage."""


class HeatScreen(TextScreen):
    """Shows a row for each group and a coloured cell with a sign for each arm, however many there are."""

    SUBJECT = "Results by tool, skill, tag and suite"

    def __init__(self, title: str, maps: Sequence[Groups]) -> None:
        texts = "\n\n".join(map(groups_text, maps))
        super().__init__(title, texts or "No conversation of this run is scored yet.")
        self._maps = maps

    def lines_of(self, width: int) -> list[Line]:
        if not self._maps:
            return super().lines_of(width)
        return [line for groups in self._maps for line in (*_map(groups, width), BLANK)]


def _map(groups: Groups, width: int) -> Iterator[Line]:
    names = [inert_line(name) for name, _ in groups.rows]
    label = min(max(map(len, names)) + 2, width // 3)
    room = min(max((width - label) // len(groups.arms) - 1, 1), _FULL + 2)
    legend = ((f" {sign} ", tint) for sign, tint in zip(MARKS, HEAT, strict=True))
    yield ((f" {WHAT[groups.by]}   ", Tint.TITLE), *legend, (" from none to all", Tint.MUTED))
    heads = [str((arm + 1) % 10) for arm in range(len(groups.arms))]
    if room >= _SHORT:
        heads = ends(short_names(groups.arms), room)
    yield ((" " * label, Tint.PLAIN), *((f"{inert_line(head):>{room}} ", Tint.MUTED) for head in heads))
    for name, (_, shares) in zip(names, groups.rows, strict=True):
        line: list[Span] = [*pad([(f" {name}", Tint.PLAIN)], label)]
        for share in shares:
            tint = Tint.MUTED if share.rate is None else HEAT[MARKS.index(mark(share))]
            line += [(_cell(share, room), tint), (" ", Tint.PLAIN)]
        yield tuple(line)


def _cell(share: Share, room: int) -> str:
    if share.rate is None:
        return "-".rjust(room)
    text = mark(share)
    if room >= _SHORT:
        text = f"{100 * share.rate:.0f}% {text}"
    if room >= _FULL:
        text = f"{share.part}/{share.whole} {text}"
    return text.rjust(room)
