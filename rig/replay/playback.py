"""How a replay is steered: speed, pause, step to the next turn, jump elsewhere in the run."""

import math
from threading import TIMEOUT_MAX
from time import monotonic

from rig.events import Where
from rig.running.control import Control

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)
"""Times as fast as it was. The last shows every turn whole, without the pieces of text it was made of."""

SLOWEST = 0.001
"""Slower than this would be to stand still."""


class Sought(Exception):
    """Somebody wants to be elsewhere in the run, which has to be told from its beginning for that."""


class Playback(Control):
    """The controls of a replay, for any thread, and the waiting they apply to, for the one that plays.

    Pausing holds at once, not after the turn. Stopping ends the replay; the run is not touched.
    """

    STOPPING = "no longer watching; the run is not touched"

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__()
        self._speed = speed
        self._stepping = False
        self._sought: Where | None = None
        self._is_sought = False
        self.slept_s = 0.0
        """Seconds of the run that `sleep` let pass; the player resets it."""
        self.until: Where | None = None
        """The conversation before which nothing is waited for."""
        self.hurry = False
        """Whether what is played now is history already, so that nothing is waited for."""

    @property
    def speed(self) -> float:
        """How many times as fast as it was; infinite for as fast as possible."""
        return self._speed

    def set_speed(self, speed: float) -> None:
        """Play at this speed from now on."""
        with self._changed:
            self._speed = speed
            self._changed.notify_all()

    def faster(self) -> None:
        """Play at the next of the speeds."""
        self.set_speed(min((speed for speed in SPEEDS if speed > self._speed), default=SPEEDS[-1]))

    def slower(self) -> None:
        """Play at the speed before."""
        self.set_speed(max((speed for speed in SPEEDS if speed < self._speed), default=SPEEDS[0]))

    def step(self) -> None:
        """Show the rest of the turn being played, or the whole next one, and pause there."""
        with self._changed:
            self.is_paused = True
            self._stepping = True
            self._changed.notify_all()

    def seek(self, where: Where | None) -> None:
        """Go on at the beginning of this conversation, or of the run."""
        with self._changed:
            self._sought, self._is_sought = where, True
            self._changed.notify_all()

    @property
    def is_paced(self) -> bool:
        """Whether time passes between events."""
        hurried = self.hurry or self._stepping or self.until is not None
        return not hurried and not math.isinf(self._speed)

    def stepped(self) -> None:
        """A turn is over: a step ends here."""
        with self._changed:
            self._stepping = False

    def turn_to_sought(self) -> None:
        """Take up the wish that raised Sought."""
        with self._changed:
            self.until, self._sought, self._is_sought = self._sought, None, False

    def sleep(self, seconds: float) -> None:
        """Let this many seconds of the run pass at the current speed. Raises Stopped and Sought."""
        with self._changed:
            self._heed()
            while seconds > 0:
                if self._stepping or self.until is not None:
                    return
                if self.is_paused:
                    self._changed.wait()
                elif not self.is_paced:
                    return
                else:
                    began, speed = monotonic(), self._speed
                    self._changed.wait(min(seconds / speed, TIMEOUT_MAX))
                    passed = (monotonic() - began) * speed
                    seconds -= passed
                    self.slept_s += passed
                self._heed()

    def idle(self, seconds: float) -> None:
        """Wait this many seconds, at any speed. Raises Stopped and Sought."""
        with self._changed:
            self._heed()
            self._changed.wait(seconds)
            self._heed()

    def _heed(self) -> None:
        self.check()
        if self._is_sought:
            raise Sought
