"""What has been said, and how it ended: a fold over steps, as they are played or as they were stored."""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from rig.calls import Call
from rig.errors import MACHINE, ErrorKind
from rig.methods.autode.answers import DONE
from rig.methods.autode.data.scenarios import ASSISTANT, USER, Scenario, Utterance
from rig.methods.autode.players.scripted_user import FAILED
from rig.methods.autode.prompt import THE_USER, Mode
from rig.tasks import PlayedTurn, Step

End: TypeAlias = Literal[
    "called", "malformed", "gave_up", "round_limit", "context_full", "assistant_failed", "user_failed"
]
"""How a conversation ended; each is a count of the method's."""


_KNOWS_NOTHING = re.compile(r"(?:(?:sorry,? )?i (?:do not|don['’]t) know\b[^.!?]*[.!]?\s*)+", re.IGNORECASE)


class Talk:
    """One conversation. `said` is without the call; `end` is None for as long as it goes on."""

    def __init__(self, scenario: Scenario, mode: Mode, max_rounds: int, *, compat: bool = False) -> None:
        is_static = mode == "static"
        self.said: list[Utterance] = list(scenario.history if is_static else scenario.history[:1])
        self.end: End | None = None
        self.call: Call | None = None
        self._left = 1 if is_static else max_rounds
        self._first = len(self.said)
        self._compat = compat

    def add(self, step: Step) -> None:
        """Take in a step: words are added to what was said, anything else ends the conversation."""
        prediction, is_user = step.prediction, step.role == THE_USER
        if prediction.reply is not None and is_user:
            if self.end in (None, "round_limit") and FAILED in prediction.reply:
                self.end = "user_failed"
            else:
                self.said.append(Utterance(USER, prediction.reply.replace(DONE, "").strip()))
        elif prediction.reply is not None:
            self.said.append(Utterance(ASSISTANT, prediction.reply.replace(DONE, "")))
            self._left -= 1
            if DONE in prediction.reply:
                self.end = "gave_up"
            elif not self._left:
                self.end = "user_failed" if self._is_user_stuck and not self._compat else "round_limit"
        elif self.end is not None:
            pass  # the user, whom nobody will answer
        elif prediction.error is ErrorKind.CONTEXT:
            self.end = "context_full"
        elif is_user:
            self.end = "user_failed"
        elif prediction.call is not None:
            self.end, self.call = "called", prediction.call
        else:
            self.end = "assistant_failed" if prediction.error in MACHINE else "malformed"

    def extend(self, played: Iterable[PlayedTurn]) -> "Talk":
        """Take in turns that were played before."""
        for turn in played:
            for step in turn.steps:
                self.add(step)
        return self

    @property
    def _is_user_stuck(self) -> bool:
        """Whether the user could answer less than half of what they were asked.

        Upstream counts such conversations as the assistant's reluctance to call.
        """
        answers = [text for role, text in self.said[self._first :] if role == USER]
        return 2 * sum(_KNOWS_NOTHING.fullmatch(text) is not None for text in answers) > len(answers)
