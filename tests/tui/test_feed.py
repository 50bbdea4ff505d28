import threading

from rig.core.calls import Call, ExecutedCall, Outcome, Verdict
from rig.core.events import CallJudged, Event, Notice, PieceGenerated, Where
from tui.live.live_run import EventQueue

A, B = Where(0, "a"), Where(0, "b")


def piece(text: str, where: Where = A, step: int = 0, forced: bool = False) -> PieceGenerated:
    return PieceGenerated(where, 1, step, text, 1, forced)


def test_pieces_of_a_step_are_merged_and_nothing_else() -> None:
    feed = EventQueue()
    over = CallJudged(B, 1, 1, ExecutedCall(Call("T", {}), Outcome()), Verdict(False))
    for event in [
        *(piece("a"), piece("b"), piece("c", B), piece("d", B, 1), piece("e", B, 1, True), piece("f")),
        *(over, piece("g", B, 1), piece("h")),
        *(Notice("n"), piece("i"), piece("j", forced=True)),
    ]:
        feed.emit(event)
    assert feed.drain() == [
        PieceGenerated(A, 1, 0, "abfh", 4, False),
        piece("c", B),
        PieceGenerated(B, 1, 1, "de", 2, False),
        over,
        piece("g", B, 1),
        Notice("n"),
        PieceGenerated(A, 1, 0, "ij", 2, False),
    ]
    assert feed.drain() == []


def test_what_was_drained_is_not_added_to() -> None:
    feed = EventQueue()
    feed.emit(piece("a"))
    drained = feed.drain()
    feed.emit(piece("b"))
    assert (drained, feed.drain()) == ([piece("a")], [piece("b")])


def test_a_queue_that_nobody_drains_stays_small_however_conversations_take_turns() -> None:
    feed = EventQueue()
    for number in range(50_000):
        feed.emit(piece("x", (A, B)[number % 2], forced=number % 3 == 0))
    events = feed.drain()
    assert [(event.where, event.tokens, len(event.text)) for event in events] == [
        (A, 25_000, 25_000),
        (B, 25_000, 25_000),
    ]


def test_it_is_over_when_closed_and_drained() -> None:
    feed = EventQueue()
    feed.emit(Notice("last"))
    feed.close()
    assert not feed.over
    feed.drain()
    assert feed.over
    feed.wait(60)


def test_no_event_is_lost_or_moved_between_threads() -> None:
    feed = EventQueue()
    seen: list[Event] = []

    def write() -> None:
        for number in range(2_000):
            feed.emit(Notice(str(number)))
        feed.close()

    thread = threading.Thread(target=write)
    thread.start()
    while not feed.over:
        feed.wait(1)
        seen += feed.drain()
    thread.join()
    assert seen == [Notice(str(number)) for number in range(2_000)]
