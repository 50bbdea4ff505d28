"""What a conversation shows once its ground truth has been executed: the features that suites ask for.

Some features follow from the calls alone. Others need an eye for language; the file names them turn by turn
(`tags`, `dates`), and what is named has to be possible.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property

from rig.core.calls import Json, JsonObject, without_token
from rig.plugins.tooltalk.check import Replayed
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk_tools import TOOLTALK

_SHORTEST = 4
"""Shorter values can stand in a response by chance."""


class Feature(StrEnum):
    """What makes a conversation hard (ToolTalk, sections 1 and 2.2; its appendix C for what to avoid)."""

    TANDEM = "tandem"
    """A call takes a value that only an earlier lookup returned."""
    CORRECTION = "correction"
    """The user corrects or narrows down what an earlier turn did."""
    ASK = "ask"
    """A turn where the right thing is to ask and not to call."""
    NO_TOOL = "no-tool"
    """A turn that no tool is needed for."""
    DATES = "date-arithmetic"
    """A call takes a date that has to be worked out from the clock."""
    TWO_USERS = "two-users"
    """Calls are made under the names of two users."""
    LOGGED_OUT = "logged-out"
    """Nobody is logged in at the start."""
    ERROR = "expected-error"
    """A call of the ground truth fails, and should."""


@dataclass(frozen=True)
class Reading:
    """One conversation and its ground truth as executed."""

    conversation: Conversation
    calls: tuple[Replayed, ...]

    @cached_property
    def features(self) -> frozenset[Feature]:
        """Every feature it has, those named in the file among them."""
        found = {Feature(tag) for _, tag in self.tags() if tag in list(Feature)}
        today = self.conversation.metadata.now.date()
        checks = {
            Feature.TANDEM: any(self._tandem()),
            Feature.DATES: any(meant != today for _, _, meant in self.dates()),
            Feature.TWO_USERS: len({each.executed.username for each in self.calls} - {None}) > 1,
            Feature.LOGGED_OUT: not self.conversation.user.session_token,
            Feature.ERROR: any(each.executed.exception for each in self.calls),
        }
        return frozenset(found | {feature for feature, present in checks.items() if present})

    @property
    def tools(self) -> list[str]:
        """The name of each call's tool, in order."""
        return [each.executed.name for each in self.calls]

    @property
    def plugins(self) -> frozenset[str]:
        """The plugins of the tools that are called."""
        return frozenset(TOOLTALK.tools[name].plugin for name in self.tools)

    @property
    def exchanges(self) -> int:
        """How often the user speaks."""
        return sum(turn.role == "user" for turn in self.conversation.turns)

    @property
    def longest_request(self) -> int:
        """The number of words in the user's longest turn."""
        return max(len(turn.text.split()) for turn in self.conversation.turns if turn.role == "user")

    def tags(self) -> Iterator[tuple[int, str]]:
        """(turn, tag) of everything the file says of its turns."""
        for position, turn in enumerate(self._source):
            tags = turn.get("tags", [])
            if isinstance(tags, list):
                yield from ((position, str(tag)) for tag in tags)

    def dates(self) -> Iterator[tuple[int, str, date]]:
        """(turn, phrase, date) of every relative date the file explains. Unreadable ones are left out."""
        for position, turn in enumerate(self._source):
            explained = turn.get("dates", {})
            for phrase, text in explained.items() if isinstance(explained, dict) else ():
                try:
                    yield position, phrase, date.fromisoformat(text)
                except (TypeError, ValueError):
                    continue

    def calls_of(self, turn: int) -> list[Replayed]:
        """The calls of one turn."""
        return [each for each in self.calls if each.turn == turn]

    @property
    def _source(self) -> Sequence[JsonObject]:
        turns: Sequence[JsonObject] = self.conversation.source["conversation"]
        return turns

    def _tandem(self) -> Iterator[bool]:
        """For each argument, whether a lookup is where it came from and nobody had said it before."""
        known = json.dumps([self.conversation.source["user"], self.conversation.source["metadata"]])
        said: list[str] = [known]
        looked_up: list[str] = []
        turns = self.conversation.turns
        heard = 0
        for each in self.calls:
            while heard < each.turn:
                # What the assistant says after a lookup may repeat what it found.
                if turns[heard].role == "user" or not looked_up:
                    said.append(turns[heard].text)
                heard += 1
            call = each.executed
            for value in _leaves(without_token(call.arguments)):
                if len(value) >= _SHORTEST and not any(value in text for text in said):
                    yield any(value in text for text in looked_up)
            if call.exception is None and not TOOLTALK.tools[call.name].action:
                looked_up.extend(_leaves(call.response))
            else:
                said.extend(_leaves(call.response))


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
