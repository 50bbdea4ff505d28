from typing import Any

import pytest

from rig.core.calls import StepPlace
from rig.show import signs
from rig.show.steps import (
    Called,
    CallVerdict,
    Differing,
    Ended,
    Failed,
    Replied,
    Returned,
    Said,
    TurnHeading,
)
from rig.show.texts import Clip
from tui.live.layout import BlockLayout, Draft, DraftBlock, NoticeLine, block, plain
from tui.text.lines import width_of

NOTHING = Clip("")

HERE = StepPlace(1, 0)


def text(entry: Any, width: int = 80, turns: int = 3) -> str:
    return "\n".join(line.strip() for line in plain(block(entry, BlockLayout(width, turns))).splitlines())


def missed(*differences: Differing, reason: str = "", bad_action: bool = False) -> CallVerdict:
    return CallVerdict(HERE, False, None, bad_action, Clip(reason), differences)


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (TurnHeading(1, 1), f"turn 1 of 3 {'-' * 65}"),
        (TurnHeading(3, 2), f"\nturn 2 of 3 {'-' * 65}"),
        (Said(Clip("good\nmorning", 7)), "user        good\nmorning .. 7 more characters"),
        (Called(HERE, Clip("T"), Clip('{"a": 1}')), 'call        T {"a": 1}'),
        (Returned(HERE, Clip('{"id": 1}'), False), 'response    {"id": 1}'),
        (Returned(HERE, Clip("no such id"), True), "refused     no such id"),
        (CallVerdict(HERE, True, (1, 1), False, NOTHING), "+ match     expected call 2"),
        (
            CallVerdict(HERE, True, (3, 0), False, NOTHING),
            "+ match     expected call 1 of another turn",
        ),
        (missed(reason="no such tool"), "x no match  no such tool"),
        (
            missed(Differing(Clip("time"), Clip('"7"'), Clip('"8"')), reason="time: 7, 8"),
            'x no match  time\nexpected "7"\ngot      "8"',
        ),
        (
            missed(Differing(Clip("body"), Clip('"a"'), Clip('"b"'), 0.4, 0.9)),
            'x no match  body  similarity 0.40, needs 0.90\nexpected "a"\ngot      "b"',
        ),
        (
            missed(Differing(Clip("body"), Clip('"a"'), Clip('"b"'), 0.9, 0.4, Clip("number: 2 is not 3"))),
            'x no match  body  similarity 0.90, needs 0.40; number: 2 is not 3\nexpected "a"\ngot      "b"',
        ),
        (
            missed(Differing(Clip("exception"), Clip("null"), Clip('"no"'))),
            "x no match  the call failed; it should have succeeded",
        ),
        (
            missed(reason="not wanted", bad_action=True),
            "# incorrect an unexpected action was carried out\nnot wanted",
        ),
        (Replied(Clip("Done.")), "reply       Done."),
        (Replied(NOTHING), "reply       (empty)"),
        (
            Failed("truncated", Clip("256 tokens"), Clip('{"a')),
            '! error     truncated: 256 tokens\n{"a',
        ),
        (Ended(signs.SUCCESS, "2 of 2 calls matched"), "\n+ success   2 of 2 calls matched"),
        (Ended(signs.FAILED, ""), "\nx failed"),
        (
            Ended(signs.INCORRECT, "1 of 2 calls matched, 2 incorrect actions"),
            "\n# incorrect 1 of 2 calls matched, 2 incorrect actions",
        ),
        (NoticeLine("stopped here"), "stopped here"),
    ],
)
def test_entries_say_what_happened(entry: Any, shown: str) -> None:
    assert text(entry) == shown


def test_a_conversation_of_unknown_length_has_no_total() -> None:
    assert text(TurnHeading(1, 1), turns=0).rstrip("- ") == "turn 1"


def test_a_long_response_is_cut_to_three_lines() -> None:
    lines = block(Returned(HERE, Clip('["' + "abc, " * 700, 96_000), False), BlockLayout(80, 3))
    assert len(lines) == 3
    assert "more characters" in plain(lines)


@pytest.mark.parametrize("width", [1, 10, 20, 50, 80, 300])
def test_no_line_is_wider_than_the_view(width: int) -> None:
    difference = Differing(
        Clip("argument" * 9, 3), Clip('"' + "x" * 300 + '"', 9), Clip("日本" * 200), 0.1, 0.9
    )
    for entry in (
        missed(difference, bad_action=True),
        Failed("invalid", Clip("why " * 50), Clip("raw" * 200, 5)),
        Said(Clip("日本" * 100, 5)),
    ):
        assert all(width_of(line) <= max(width, 40) for line in block(entry, BlockLayout(width, 3)))


def test_a_draft_grows_and_ends_in_a_cursor() -> None:
    draft = Draft(HERE)
    growing = DraftBlock(draft, BlockLayout(60))
    draft.add("", 0)
    assert plain(growing.lines()).split() == ["model", "reads", "the", "prompt"]
    for piece in ('{"to', 'ol": "T"', ", \x1b" + "x" * 5_000):
        draft.add(piece, 1)
        growing.lines()
    shown = plain(growing.lines())
    assert shown.startswith(' model       {"tool": "T", \\e')
    assert "1,015 more characters" in shown
    assert all(width_of(line) <= 60 for line in growing.lines())
