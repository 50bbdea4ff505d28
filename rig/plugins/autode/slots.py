"""A slot as a user knows it: what refers to it, what a text says about its value, what asks for it.

For a slot that is true or false, a text can also say the opposite, or offer a word for either.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from rig.core.calls import Json
from rig.plugins.autode import questions
from rig.plugins.autode.clauses import (
    FUNCTION_WORDS,
    WORDS,
    DialogueAct,
    Token,
    content,
    facts,
    family,
    stems,
    stems_of,
    table,
    tokens,
)
from rig.plugins.autode.scenarios import ApiDocument, Parameter
from rig.plugins.text.reading.facts import Fact
from rig.plugins.text.reading.lexicon import stem


@dataclass(frozen=True)
class Knowledge:
    """What a user knows: the values of an API's slots, the story (who they are, what they want and have
    said), and the script's sentences by name.
    """

    api: ApiDocument
    values: Mapping[str, Json]
    story: str = ""
    sentences: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def slots(self) -> tuple["Slot", ...]:
        """The slots of the API, in the order of its document."""
        return tuple(
            Slot(parameter, self.values.get(parameter.name), parameter.name in self.values)
            for parameter in self.api.parameters
        )

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all words of the document, the values and the story."""
        texts = [self.story, self.api.name, self.api.description, *map(str, self.values.values())]
        for parameter in self.api.parameters:
            texts += [questions.spoken(parameter.name), parameter.description, *parameter.enum]
        return frozenset().union(*map(stems, texts))

    def is_strange(self, token: Token) -> bool:
        """Return whether a word carries meaning and is not one that the user knows."""
        return token.is_content and token.stem not in self.vocabulary


@dataclass(frozen=True)
class Slot:
    """A parameter with the value that the user knows, if any."""

    parameter: Parameter
    value: Json
    is_known: bool

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def is_flag(self) -> bool:
        """Whether the value is true or false."""
        return isinstance(self.value, bool)

    @cached_property
    def text(self) -> str:
        """The value if it is a text, else an empty string."""
        return self.value if isinstance(self.value, str) else ""

    @cached_property
    def named(self) -> frozenset[str]:
        """The stems of its name."""
        return frozenset(map(stem, questions.spoken(self.name).split()))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words of its name and description."""
        return self.named | stems(self.parameter.description)

    @cached_property
    def described(self) -> frozenset[str]:
        """The stems of its name, and of what its description is about."""
        return self.named | frozenset(content(self.parameter.description))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The stems of the words that say what its value is about."""
        return content(self.text)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that its value states."""
        return facts(self.text)

    @cached_property
    def families(self) -> frozenset[str]:
        """The families of the facts that its value states."""
        soon = ("day",) if _SOON.search(self.text) else ()
        return frozenset((*map(family, self.facts), *soon))

    def states(self, fact: Fact) -> bool:
        """Return whether a fact is one that its value states."""
        return any(fact.agrees(own) for own in self.facts)

    @property
    def is_time(self) -> bool:
        """Whether its value states a day or a time of day."""
        return not self.families.isdisjoint(("day", "clock"))

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The values that it can have: those in the document, or those that its description names."""
        listed = self.parameter.description.partition("such as ")[2]
        return self.parameter.enum or tuple(filter(None, re.split(r", | or ", listed)))

    @property
    def is_code(self) -> bool:
        """Whether the value is a code, such as a plate or the number of a ticket."""
        return re.fullmatch(r"(?=.*\d)(?!\d{1,2}$)[A-Z\d][A-Z\d -]*", self.text) is not None

    def chosen(self, text: str) -> list[str]:
        """Return the choices that a text names."""
        return [choice for choice in self.choices if _names_choice(text, choice, self.choices)]

    def compared(self, text: str, knowledge: Knowledge) -> bool | None:
        """Return whether a text says the value (True), another one instead (False), or neither (None).

        Days, times and amounts are not compared here, but as facts.
        """
        if chosen := self.chosen(text):
            return any(_plain(choice) == _plain(self.text) for choice in chosen)
        if self.is_code:
            codes = [code for code in re.findall(r"[\w-]*\d[\w-]*", text) if self._is_like(code, text)]
            if codes:
                return any(code.casefold() in self.text.casefold() for code in codes)
        if self.words and stems(text).issuperset(self.words):
            return True
        return False if self._is_other_kind(text, knowledge) else None

    def _is_like(self, code: str, text: str) -> bool:
        """Return whether a code could stand in the value's place: as long, with letters where it has them."""
        shape, whole = (re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", text)) for text in (code, self.text))
        parts = self.text.casefold().split()
        others = [part for part in parts if part.isalpha()]
        is_part = bool(others) and shape in whole.split() and set(others) <= set(text.casefold().split())
        return len(code) > 1 and (code.casefold() in parts or shape == whole or is_part)

    def _is_other_kind(self, text: str, knowledge: Knowledge) -> bool:
        """Return whether a text has the same noun with another attribute: savings and business account."""
        if self.families or not self.text:
            return False
        head = {self.words[-1]} if self.words and self.words[-1].isalpha() else set()
        topics = (self.named | frozenset(content(self.parameter.description)[-1:])) - head
        sequence = tokens(text)
        for place, token in enumerate(sequence):
            others = reversed(sequence[:place])
            before = list(takewhile(lambda other: other.is_content and not other.text.isdigit(), others))
            is_topic = token.stem in topics and not any(other.text.endswith("ing") for other in before)
            if any(map(knowledge.is_strange, before)) and (token.stem in head or is_topic):
                return True
        return False


def _plain(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens(text))


def _names_choice(text: str, choice: str, choices: Sequence[str]) -> bool:
    """Return whether a text names a choice, even if only by a word that no other choice has."""
    here, wording = _plain(text), _plain(choice)
    if all(word in FUNCTION_WORDS for word in wording):
        # On and off are prepositions elsewhere.
        turned = re.search(r"\b(?:turn|switch)\w*\b", text, re.IGNORECASE) is not None
        return wording[0] in here and (turned or wording[0] == here[-1])
    also = WORDS["also"]
    inside = [also.get(token.text) or also.get(token.stem) or token.stem for token in tokens(text)]
    own = [stem(word) for word in wording]
    if any(word.isdigit() for word in wording):
        return any(own == inside[start : start + len(own)] for start in range(len(inside)))
    others = {stem(word) for other in choices if other != choice for word in _plain(other)}
    telling = next((word for word in own if word not in others and len(word) > 1), own[0])
    return any(_akin(telling, other) for other in inside)


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 4 and long.startswith(short))


CLEAR, STRONG = 2.0, 3.6
"""The degree from which a question is about a slot, and from which its words need not name the slot."""

_CANNOT = -1.0
"""The degree of a slot that cannot be what a question word asks for."""

_TIMES, _PLACES, _FROM, _TO, _ENDS = map(stems_of, ("times", "places", "from", "to", "ends"))
_LASTING, _QUANTIFIED, _NAMED = map(stems_of, ("lasting", "counted", "named"))
_ADJECTIVES, _NOUNS = table("adjectives"), table("nouns")

_DID = re.compile(r"\bwhen did\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|happened)\b", re.IGNORECASE)
_SOON = re.compile(r"\b(?:as soon as possible|immediately|at once)\b", re.IGNORECASE)
_ENDING = re.compile(r"\b(?:until|till|by when|back|home|return|end|finish|last)\b", re.IGNORECASE)
_TOWARDS = re.compile(r"\b(?:to|instead|going|bring|after|then|reach|forward|send|deliver)\b")
_ASKS_NAME = re.compile(r"\b(?:name|called|title|(?:do|did|should i|shall i) (?:you )?call)\b", re.IGNORECASE)
_OF_KIND = {
    **dict.fromkeys(("who", "whom", "whose"), (stems_of("people"), 2.0)),
    "why": (stems_of("reasons"), 2.4),
    **dict.fromkeys(("what number", "which number"), (stems_of("numbered"), 1.2)),
    **dict.fromkeys(("what name", "which name"), (frozenset({"name"}), 2.0)),
}
"""What a slot has to be about for a question word to ask for it, and the degree."""


def synonyms(word: str) -> frozenset[str]:
    """Return the stems that an everyday word stands for, with its own."""
    return frozenset((stem(word), *_NOUNS.get(word, _NOUNS.get(word.removesuffix("s"), ()))))


def relevance(slot: Slot, clause: DialogueAct, own: str) -> float:
    """Return how much a question is about a slot, 0 if it cannot be; `own` is what the user said so far."""
    words = frozenset(content(clause.text))
    total = kind_degree(slot, clause)
    may_be_told = clause.kind == "wh" or (clause.kind == "tell" and "describe" in clause.text)
    may_be_told = may_be_told and slot.is_known and bool(slot.words)
    if slot.is_time:
        stated = facts(clause.text)
        is_told = bool(slot.facts) and all(any(map(fact.agrees, stated)) for fact in slot.facts)
    else:
        is_told = words.issuperset(slot.words)
    if total < 0 or (may_be_told and is_told):
        return 0.0
    also: set[str] = set()
    for token in tokens(clause.text):
        plain = _NOUNS.get(token.stem, _NOUNS.get(token.text.removesuffix("s"), ()))
        also.update(_NOUNS.get(token.text, plain), _ADJECTIVES.get(token.text, ()))
    names, rest = words & slot.named, slot.described - slot.named
    total = total + 2.0 * bool(names)
    total += 1.1 * min(len(words & rest), 2)
    total += 1.6 * bool(also & slot.named) + 0.8 * bool(also & rest)
    if slot.words and not slot.is_time:
        # A question is about what was said already, and seldom asks for it.
        total += 1.8 * bool(words.intersection(slot.words))
    if total and slot.is_known:
        total += 0.3 + 0.3 * (not questions.mentions(own, slot.value, slot.parameter))
    return total


def kind_degree(slot: Slot, clause: DialogueAct) -> float:
    """Return how well a slot is of the kind that a question word asks for; negative if it cannot be."""
    families, stems = slot.families, slot.stems
    is_time = slot.is_time or (not slot.is_known and bool(slot.named & _TIMES))
    match clause.asks.split():
        case _ if clause.asks in _OF_KIND:
            about, of_kind = _OF_KIND[clause.asks]
            if slot.is_time and clause.asks.startswith("who"):
                return _CANNOT
            return of_kind + 0.6 * bool(slot.named & about) if stems & about else _CANNOT
        case ["when"] | ["what" | "which", "time" | "day" | "date"]:
            is_other = slot.is_known and bool(families) and not slot.is_time
            is_hour = clause.asks.endswith("time") and "clock" not in families
            is_past = _DID.search(clause.text) is not None and not _PAST.search(slot.parameter.description)
            if is_other or is_past or (is_hour and slot.is_known) or not (is_time or slot.named & _TIMES):
                return _CANNOT
            return 2.0 + _nearness(slot, clause)
        case ["how", "long"]:
            if "duration" in families or stems & _LASTING:
                return 2.6 if "duration" in families else 2.2
            return 0.2 if is_time else _CANNOT
        case ["how", "often"]:
            is_repeated = "number" in families and bool(slot.named & frozenset(content(clause.text)))
            return 2.4 if is_repeated else 2.0 if is_time else _CANNOT
        case ["how", "many"]:
            counted = re.search(r"\bhow many (?:more )?(\w+)", clause.text, re.IGNORECASE)
            units = {family(fact) for fact in facts(f"2 {counted[1]}")} if counted else set()
            if units - {"number"}:
                return 2.6 if units & families else _CANNOT
            is_number = "number" in families
            return 1.6 + 0.8 * is_number if is_number or stems & _QUANTIFIED else _CANNOT
        case ["how", "much"]:
            if re.search(r"\bhow much (?:time|longer)\b", clause.text, re.IGNORECASE):
                return 2.4 if "duration" in families or stems & _LASTING else _CANNOT
            is_amount = families & {"amount of money", "mass", "volume", "number"} and not slot.is_code
            if is_amount or stems & _QUANTIFIED:
                return 2.0 + 0.6 * ("amount of money" in families) + 0.4 * ("much" in stems)
            return _CANNOT
        case ["how", adjective] if adjective in _ADJECTIVES:
            return 2.3 if stems.intersection(_ADJECTIVES[adjective]) else _CANNOT
        case ["where"] | ["what" | "which", "place"]:
            return _place_degree(slot, clause.text.casefold())
        case _:
            return 1.7 * is_named(slot, clause)


def is_named(slot: Slot, clause: DialogueAct) -> bool:
    """Return whether a clause asks what something is called, and the slot's value is a name."""
    return _ASKS_NAME.search(clause.text) is not None and bool(slot.stems & _NAMED)


def _nearness(slot: Slot, clause: DialogueAct) -> float:
    """Return how near a slot is to the day or time that is meant: the time of day, the first, or the last."""
    nearness = 0.5 * bool(slot.named & _TIMES)
    if clause.asks.endswith("time"):
        nearness += 0.8 * ("clock" in slot.families) + 0.3 * ("time" in slot.named)
    if clause.asks.endswith(("day", "date")):
        nearness += 0.8 * ("day" in slot.families) + 0.3 * bool(slot.named & {"day", "date"})
    ends = _ENDING.search(clause.text)
    return nearness + (0.6 if bool(ends) == bool(slot.named & _ENDS) else -0.4)


def _place_degree(slot: Slot, text: str) -> float:
    if re.search(r"\b(?:money|refund|transfer)\b", text) and "account" in slot.stems:
        return 2.4
    if not slot.stems & _PLACES or slot.is_time:
        return _CANNOT
    nearness = 2.0 - 0.6 * bool(slot.parameter.enum)
    if slot.named & _FROM:
        nearness += 0.8 if re.search(r"\bfrom\b", text) else -0.8
    if slot.named & _TO or "arriv" in slot.stems:
        nearness += 0.6 if _TOWARDS.search(text) else -0.4
    return nearness


def most_about(text: str, slots: Iterable[Slot]) -> Slot | None:
    """Return the slot that a statement is most about."""
    about, when = content(text), DialogueAct(text, "wh", "when")
    return max(
        slots,
        key=lambda slot: (len(slot.described.intersection(about)), kind_degree(slot, when)),
        default=None,
    )


_SIDES = tuple(
    (frozenset(says.split()), frozenset(denies.split()))
    for says, denies in (
        ("first new", "before already again existing regular returning earlier previously"),
        ("outside outdoors terrace patio garden", "inside indoors indoor"),
        ("loan courtesy replacement rental substitute spare", ""),
        ("screen projector display monitor", ""),
    )
)
"""Words for what can be true of a slot, and words for the opposite."""
_STOPS = stems_of("flag_stops")
_NEGATED = re.compile(r"\b(?:without|not|no|don['’]t|doesn['’]t|won['’]t|never)\b", re.IGNORECASE)
_NEGATED_VERB = re.compile(r"\b\w+ (?:is|are|was|were|have|has)n['’]t\b", re.IGNORECASE)
_QUESTION_TAG = re.compile(r",? \w+n['’]t (?:you|it|we)\W*$", re.IGNORECASE)


class Flag(NamedTuple):
    """What a clause says about a truth value; `side` is its word for the slot's value, if it has one."""

    value: bool
    is_either: bool
    side: str


def flag_said(slot: Slot, text: str) -> Flag | None:
    """Return what a text says or asks about a slot that is true or false; None if nothing."""
    heard = tokens(text)
    asked = {token.text for token in heard}
    own = {token.text for token in tokens(f"{questions.spoken(slot.name)} {slot.parameter.description}")}
    sides = [(says, denies) for says, denies in _SIDES if says & own]
    positive = frozenset().union(*(says & asked for says, _ in sides))
    negative = frozenset().union(*(denies & asked for _, denies in sides))
    same = not (frozenset(token.stem for token in heard) & slot.stems).issubset(_STOPS)
    if not (same or positive or negative):
        return None
    rest = _QUESTION_TAG.sub("", text)
    is_negated = bool(_NEGATED.search(rest)) and not re.match(r"\W*\w+n['’]t\b", rest)
    is_negated |= bool(_NEGATED_VERB.search(rest))
    value = not ((bool(negative) and not positive) ^ is_negated)
    is_either = bool(positive and negative) and "or" in asked
    return Flag(value, is_either, min(positive if slot.value else negative, default=""))
