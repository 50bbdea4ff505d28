import threading

from rig.events import Event, Notice, PieceGenerated, Where
from tui.feed import Feed

A, B = Where(0, "a"), Where(0, "b")


def piece(text: str, where: Where = A, step: int = 0, forced: bool = False) -> PieceGenerated:
    return PieceGenerated(where, 1, step, text, 1, forced)


def test_pieces_of_a_step_are_merged_and_nothing_else() -> None:
    feed = Feed()
    other = [piece("c", B), piece("d", B, 1), piece("e", B, 1, True)]
    for event in [piece("a"), piece("b"), *other, Notice("n"), piece("f")]:
        feed.emit(event)
    assert feed.drain() == [
        PieceGenerated(A, 1, 0, "ab", 2, False),
        *other,
        Notice("n"),
        piece("f"),
    ]
    assert feed.drain() == []


def test_a_queue_that_nobody_drains_stays_small() -> None:
    feed = Feed()
    for _ in range(50_000):
        feed.emit(piece("x"))
    (event,) = feed.drain()
    assert isinstance(event, PieceGenerated)
    assert event.tokens == len(event.text) == 50_000


def test_it_is_over_when_closed_and_drained() -> None:
    feed = Feed()
    feed.emit(Notice("last"))
    feed.close()
    assert not feed.over
    feed.drain()
    assert feed.over
    feed.wait(60)


def test_no_event_is_lost_or_moved_between_threads() -> None:
    feed = Feed()
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
