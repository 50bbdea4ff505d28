"""Paths as text: a few lines on each arm and flip, and both transcripts side by side."""

from collections.abc import Iterator, Sequence

from rig.core.calls import StepPlace
from rig.core.errors import counted
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.paths.difference import PathDifference
from rig.plugins.paths.paths import ArmPaths, FlipPath
from rig.show.steps import Called, CallVerdict, Failed, Lengths, Replied, Returned, step_view
from rig.show.table import cell_width, padded
from rig.show.texts import percent, printable

NARROWEST = 60
"""The fewest cells in which two transcripts are side by side."""
_WIDEST = 160
_BEFORE = 24
"""The characters that are shown of a message before the token."""
_MOST_ROWS = 10
_MOST_FLIPS = 12
_MOST_ACTIONS = 6
_BETWEEN = " | "
_LENGTHS = Lengths.of(400)


def paths_text(paths: ArmPaths, width: int, *, full: bool) -> str:
    """Return the paths of an arm, in lines of at most this many cells."""
    width = max(min(width, _WIDEST), NARROWEST)
    lines = [f"{paths.arm} beside {paths.baseline}"]
    share = percent(paths.same_calls / paths.turns if paths.turns else None)
    lines += _wrapped(
        f"the same calls in {paths.same_calls} of {counted(paths.turns, 'turn')} ({share}), the same text in"
        f" {paths.same_text}",
        width,
        "  ",
    )
    lines += _action_lines(paths, width, full=full)
    if not paths.flips:
        lines.append("  no conversation flips")
    flips = paths.flips if full else paths.flips[:_MOST_FLIPS]
    for flip in flips:
        lines += ["", *_flip_lines(paths, flip, width, full=full)]
    if len(flips) < len(paths.flips):
        lines += ["", f"and {counted(len(paths.flips) - len(flips), 'more flip')}; --full shows all"]
    return "\n".join(lines)


def _action_lines(paths: ArmPaths, width: int, *, full: bool) -> Iterator[str]:
    """Yield what changed something and was repeated, or was done by one alone."""
    yield ""
    if not paths.actions:
        yield "  no call that changes something was repeated, or made by one alone"
    said = {"repeated": "repeated", "only": "made by it alone"}
    for what, words in said.items():
        for arm in (paths.baseline, paths.arm):
            places = [place for place in paths.actions if place.what == what and place.arm == arm]
            if not places:
                continue
            yield from _wrapped(f"{arm}: {counted(len(places), 'action')} {words}", width, "  ")
            for place in places if full else places[:_MOST_ACTIONS]:
                times = f"{place.times} times " if place.times > 1 else ""
                told = f"{place.conversation}, turn {place.turn}: {times}{place.call}"
                yield from _wrapped(told, width, "    ")[: None if full else 2]
            if not full and len(places) > _MOST_ACTIONS:
                yield f"    and {len(places) - _MOST_ACTIONS} more; --full lists all"
    if paths.unknown:
        names = ", ".join(paths.unknown[:4])
        more = f" and {len(paths.unknown) - 4} more" if len(paths.unknown) > 4 else ""
        yield from _wrapped(f"nobody knows here whether {names}{more} change anything", width, "  ")


def _flip_lines(paths: ArmPaths, flip: FlipPath, width: int, *, full: bool) -> Iterator[str]:
    repeat = f", repeat {flip.repeat + 1}" if flip.repeat else ""
    found = flip.difference
    if found is None:
        yield from _wrapped(f"{flip.outcome}: {flip.conversation}{repeat}: both wrote the same", width, "")
        return
    yield from _wrapped(f"{flip.outcome}: {flip.conversation}{repeat}, {found.words}", width, "")
    yield from _wrapped(found.chances, width, "  ")
    pair = paths.transcripts[flip.conversation, flip.repeat]
    played = [transcript.turns[flip.position] for transcript in pair]
    room = (width - len(_BETWEEN)) // 2
    columns = [
        [*_cut_to(name, room), *side]
        for name, side in zip(
            (paths.baseline, paths.arm),
            (_column(of, found, number, room) for number, of in enumerate(played)),
            strict=True,
        )
    ]
    yield from _side_by_side(columns, room, None if full else _MOST_ROWS)


def _cut_to(name: str, room: int) -> list[str]:
    """Return the title of a column, with a rule below it."""
    return [name if len(name) <= room else f"…{name[-room + 1 :]}", "-" * room]


def _column(played: PlayedTurn, found: PathDifference, side: int, room: int) -> list[str]:
    """Return the lines of one arm, from the token in which it parts on."""
    first, start = found.steps[side], found.sides[side].start
    lines: list[str] = []
    for number, step in enumerate(played.steps[first:], first):
        place = StepPlace(played.turn, number)
        if number == first and step.prediction.raw:
            lines += _wrapped(_from_token(step, start), room, "")
        for piece in step_view(place, step, _LENGTHS).pieces:
            match piece:
                case Called() if number > first or not step.prediction.raw:
                    lines += _wrapped(f"{piece.sign.glyph} {piece.name} {piece.arguments}", room, "")
                case Returned():
                    lines += _wrapped(f"{piece.sign.glyph} {piece.text}", room, "  ")
                case CallVerdict():
                    told = ": ".join(filter(None, [piece.said, piece.reason.text]))
                    lines += _wrapped(f"{piece.sign.glyph} {piece.sign.word} {told}", room, "  ")
                case Replied() if number > first or not step.prediction.raw:
                    lines += _wrapped(f"{piece.sign.glyph} {piece.text}", room, "")
                case Failed():
                    lines += _wrapped(f"{piece.sign.glyph} {piece.why}", room, "")
                case _:
                    pass
    return lines or ["(nothing)"]


def _from_token(step: Step, start: int) -> str:
    """Return what a model wrote from a token on, with a little of what comes before it."""
    raw = step.prediction.raw
    before = raw[max(start - _BEFORE, 0) : start]
    return f"{'…' if start > _BEFORE else ''}{before}[{raw[start:]}]"


def _side_by_side(columns: Sequence[Sequence[str]], room: int, most: int | None) -> Iterator[str]:
    height = max(map(len, columns))
    shown = height if most is None or height <= most + 3 else most
    for row in range(shown):
        left, right = (column[row] if row < len(column) else "" for column in columns)
        yield f"{padded(left, room)}{_BETWEEN}{right}".rstrip()
    if shown < height:
        yield f"({counted(height - shown, 'more line')}; --full shows them)"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Return a text in lines of at most this many cells; those after the first are indented once more."""
    lines, line = [], indent
    for word in printable(" ".join(text.split())).split(" "):
        rest = word
        while rest:
            gap = " " if line.strip() else ""
            if cell_width(f"{line}{gap}{rest}") <= width:
                line, rest = f"{line}{gap}{rest}", ""
            elif line.strip() and cell_width(f"{indent}  {rest}") <= width:
                lines.append(line)
                line = f"{indent}  "
            else:
                line = f"{line}{gap}"
                while rest and cell_width(line + rest[0]) <= width:
                    line, rest = line + rest[0], rest[1:]
                lines.append(line)
                line = f"{indent}  "
    return [*lines, line] if line.strip() or not lines else lines
