"""Courses through models: several at once, several roles, one model in two of them, pauses and stops."""

import threading
from collections.abc import Sequence

import pytest

from rig.core.models import Model, Piece, Prediction, Request, StepKey
from rig.methods.episode import Ask
from rig.methods.scripted import Scripted, replied
from rig.running.control import Control, Stopped
from rig.running.courses import Asking, drive


class Talk:
    """A course in which two roles speak in turn, each of what the other said before."""

    def __init__(self, name: str, rounds: int, roles: Sequence[str] = ("assistant", "user")) -> None:
        self.name = name
        self.rounds = rounds
        self.roles = roles
        self.said: list[str] = []
        self.heard = ""
        self.slot = -1

    def begin(self, slot: int) -> Asking:
        self.slot = slot
        for number in range(self.rounds):
            role = self.roles[number % len(self.roles)]
            request = Request(StepKey(self.name, number, 0), role, (), " ".join(self.said), ())
            prediction = yield Ask(role, request)
            assert prediction is not None
            self.said.append(prediction.raw)

    def listen(self, ask: Ask, piece: Piece) -> None:
        self.heard += f"{ask.role}: {piece.text}\n"


def speaker(word: str, slots: int = 1) -> Scripted:
    """Says its word, and of which role it was asked."""
    return Scripted(lambda request: replied(f"{word}-{request.instructions}"), slots=slots)


def test_courses_ask_their_roles_in_turn() -> None:
    talks = [Talk("a", 3), Talk("b", 2)]
    drive(talks, {"assistant": speaker("one"), "user": speaker("two")}, 1, Control())
    assert talks[0].said == ["one-assistant", "two-user", "one-assistant"]
    assert talks[1].said == ["one-assistant", "two-user"]
    assert talks[1].heard == "assistant: one-assistant\nuser: two-user\n"


def test_one_model_may_play_every_role() -> None:
    model = speaker("same")
    talk = Talk("a", 4)
    drive([talk], {"assistant": model, "user": model}, 1, Control())
    assert talk.said == ["same-assistant", "same-user"] * 2


@pytest.mark.parametrize("slots", [1, 2, 5, 9])
def test_as_many_are_under_way_as_there_are_slots_and_each_is_as_if_alone(slots: int) -> None:
    talks = [Talk(str(number), number % 4) for number in range(7)]
    under_way: list[int] = []

    class Counting(Scripted):
        def begin(self, slot: int, request: Request, on_piece: object) -> None:
            under_way.append(slot)
            super().begin(slot, request, on_piece)  # type: ignore[arg-type]

    model = Counting(lambda request: replied(request.context), slots=slots)
    drive(talks, {"assistant": model, "user": speaker("user", slots)}, slots, Control())
    assert max(under_way) == min(slots, 5) - 1
    for talk in talks:
        alone = Talk(talk.name, talk.rounds)
        echo = Scripted(lambda request: replied(request.context))
        drive([alone], {"assistant": echo, "user": speaker("user")}, 1, Control())
        assert (talk.said, talk.heard) == (alone.said, alone.heard)


def test_a_course_that_asks_nothing_makes_room_for_the_next() -> None:
    talks = [Talk("none", 0), Talk("none either", 0), Talk("one", 1)]
    drive(talks, {"assistant": speaker("word"), "user": speaker("word")}, 1, Control())
    assert [talk.slot for talk in talks] == [0, 0, 0]
    assert talks[2].said == ["word-assistant"]


class Holding(Talk):
    """Asks to be held while the run is paused."""

    def __init__(self, name: str, control: Control) -> None:
        super().__init__(name, 2)
        self.control = control

    def begin(self, slot: int) -> Asking:
        for ask in super().begin(slot):
            if self.control.is_paused:
                yield None
            prediction = yield ask
            assert prediction is not None
            self.said.append(prediction.raw)
            return


def test_a_pause_holds_what_asks_to_be_held_and_says_when_it_is_over() -> None:
    control, resumed = Control(), []
    talk = Holding("a", control)
    control.pause()
    timer = threading.Timer(0.05, control.resume)
    timer.start()
    models = {"assistant": speaker("word"), "user": speaker("word")}
    drive([talk], models, 1, control, lambda: resumed.append(True))
    timer.join()
    assert (talk.said, resumed) == (["word-assistant"], [True])


def test_a_stop_during_a_pause_ends_it() -> None:
    control = Control()
    control.pause()
    control.stop()
    with pytest.raises(Stopped):
        drive([Talk("a", 1)], {"assistant": speaker("word"), "user": speaker("word")}, 1, control)


def test_what_a_listener_raises_comes_through() -> None:
    class Deaf(Talk):
        def listen(self, ask: Ask, piece: Piece) -> None:
            raise Stopped

    with pytest.raises(Stopped):
        drive([Deaf("a", 1)], {"assistant": speaker("word"), "user": speaker("word")}, 1, Control())


def test_a_model_whose_steps_take_several_advances_is_advanced_until_all_are_done() -> None:
    class Slow(Scripted):
        """Finishes a step only when it is advanced the third time."""

        def __init__(self) -> None:
            super().__init__(lambda request: replied(request.key.conversation), slots=2)
            self.left: dict[int, tuple[Request, int]] = {}

        def begin(self, slot: int, request: Request, on_piece: object) -> None:
            self.left[slot] = request, 3

        def advance(self) -> list[tuple[int, Prediction]]:
            self.left = {slot: (request, left - 1) for slot, (request, left) in self.left.items()}
            done = [slot for slot, (_, left) in self.left.items() if not left]
            return [(slot, replied(self.left.pop(slot)[0].key.conversation)) for slot in done]

    model: Model = Slow()
    talks = [Talk(name, 2, roles=("assistant",)) for name in "abc"]
    drive(talks, {"assistant": model}, 2, Control())
    assert [talk.said for talk in talks] == [["a"] * 2, ["b"] * 2, ["c"] * 2]
