"""A conversation of the lesson: how its users speak, and what they have."""

from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

from benchmarks.teach import words
from benchmarks.teach.worlds import Person, Things
from rig.core.calls import Call, Json, JsonObject
from rig.plugins.author.draft import ConversationDraft
from rig.plugins.author.speech import capital, expand
from rig.plugins.tooltalk.conversations import Conversation, Metadata, Turn, User
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world import Simulator

TOKEN = "session-of-the-user"


class Talk(ConversationDraft):
    """One conversation. Scenes let the user speak, call tools, and reply, `conversation` gives all of it."""

    def __init__(self, random: Random, things: Things, *, logged_in: bool) -> None:
        super().__init__(self._ready)
        self.random = random
        self.things = things
        self.me: Person | None = things.me if logged_in else None
        account = things.me
        self._user = User(
            account.username,
            account.email,
            account.phone,
            account.name,
            account.password,
            TOKEN if logged_in else None,
        )
        self._metadata = Metadata(
            things.city, f"{things.now:%Y-%m-%d %H:%M:%S}", account.username if logged_in else None
        )
        self._lower = random.random() < 0.55
        self._bare = random.random() < 0.7
        self._please = random.random() < 0.3
        self._talkative = random.random() < 0.45

    @property
    def now(self) -> datetime:
        return self.things.now

    @property
    def pending(self) -> bool:
        """Whether the user has spoken last."""
        return bool(self.turns) and self.turns[-1].role == "user"

    def user(self, pattern: str, *, please: bool = True, **fields: Any) -> None:
        """Let the user say a sentence of a pattern, in this user's way of writing."""
        text = expand(self.random, pattern, **fields)
        if please and self._talkative and self.random.random() < 0.55:
            text = self._talked_round(text, list(fields.values()))
        elif please and self._please and self.random.random() < 0.6 and "please" not in text.lower():
            text = (
                f"{text.rstrip('.')}{self.random.choice([' please', ', please', ' pls'])}"
                if text[-1:] != "?"
                else text
            )
        first = text.split()[0]
        is_given = any(
            isinstance(value, str) and value.startswith(first.rstrip(",.:")) for value in fields.values()
        )
        if not is_given and not self._is_name(first):
            lower = self._lower and first not in ("I", "I'm", "I'll", "I've") and first[1:].islower()
            text = text[:1].lower() + text[1:] if lower else capital(text)
        if please and not self._bare and text[-1:].isalnum():
            text += "."
        if self._bare and text.endswith("?") and self.random.random() < 0.3:
            text = text[:-1]
        self.say(text)

    def wish(self, ways: str, pattern: str, **fields: Any) -> None:
        """Let the user ask for something: in one of the ways of phrases.toml, or by a pattern."""
        by_hand = self.random.random() < 0.5
        self.user(self.random.choice(words.PHRASES[ways]) if by_hand else pattern, **fields)

    def _talked_round(self, text: str, values: list[Any]) -> str:
        """A wish amid words that mean nothing for it; not behind a value, which they could seem part of."""
        fields = {
            "name": self.random.choice(self.things.others).first,
            "thing": self.random.choice(words.THINGS),
        }
        if text.endswith(tuple(map(str, values))) or self.random.random() < 0.6:
            return f"{expand(self.random, self.random.choice(words.BEGINS), **fields)} {text}"
        joint = " " if text.endswith("?") else self.random.choice([", ", ". ", " - ", "... "])
        return f"{text.rstrip('.')}{joint}{expand(self.random, self.random.choice(words.AFTER), **fields)}"

    def _is_name(self, word: str) -> bool:
        """Whether a word is spelled as it is: somebody's name, address or password, or no plain word."""
        plain = word.rstrip(",.:?!")
        people = (self.things.me, *self.things.others)
        return not plain.replace("'", "").isalpha() or any(
            plain in (each.username, each.first, each.password) for each in people
        )

    def call(self, tool: str, *, fails: bool = False, **arguments: Json) -> Any:  # type: ignore[override]
        """Call a tool and return its response. Raises Refused if that fails, or does not but should."""
        values = {name: value for name, value in arguments.items() if value is not None}
        return super().call(Call(tool, values), fails=fails)

    def reply(self, pattern: str, **fields: Any) -> None:
        """Answer with a sentence of a pattern, after the calls of this turn."""
        text = expand(self.random, pattern, **fields)
        super().reply(text if self._is_name(text.split()[0]) else capital(text))

    def code_sent(self) -> str:
        """The verification code that the user has been sent."""
        account = self._world.accounts.find(self.things.me.username)
        return str(account.verification_code) if account else ""

    def switch(self, who: Person) -> None:
        """Another person speaks from now on, who has no things of their own."""
        self.things = replace(
            self.things,
            me=who,
            others=[each for each in (self.things.me, *self.things.others) if each is not who],
            alarms=[],
            events=[],
            reminders=[],
            mails=[],
            messages=[],
        )

    def forget(self, record: JsonObject) -> None:
        """Something was changed or deleted; no later scene takes it for what it was."""
        things = self.things
        for key, kept in (
            ("alarm_id", things.alarms),
            ("event_id", things.events),
            ("reminder_id", things.reminders),
        ):
            kept[:] = [each for each in kept if each[key] != record.get(key)]

    def begins_with_code(self, code: str) -> None:
        """The user has been sent this verification code before the conversation."""
        self._user = replace(self._user, verification_code=code)

    def _ready(self) -> Simulator:
        self._world = self.things.world(self.random)
        simulator = Simulator(self._world, TOOLTALK)
        simulator.start(self._metadata.now, self._user.username, self._user.credentials)
        return simulator

    def conversation(self, name: str) -> Conversation:
        """What was said and done, as a run takes it."""
        used = {call.name for call in self.calls}
        return Conversation(
            name=name,
            id=name,
            user=self._user,
            metadata=self._metadata,
            turns=tuple(Turn(turn.role, turn.text, turn.calls) for turn in self.turns),
            plugins=tuple(sorted({TOOLTALK.tools[tool].plugin for tool in used})),
            tools=tuple(sorted(used)),
        )
