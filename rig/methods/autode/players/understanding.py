"""What an assistant's words ask of a user who knows some values, and which of what they say is false.

Values and words are read as facts (days, times, amounts), so that "when" is about a slot whose value is a day,
and "10 mg" contradicts "5 mg". What is not a fact is compared word by word.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from rig.calls import Json
from rig.methods.autode.data.documents import ApiDocument, Parameter
from rig.methods.autode.players import questions
from rig.methods.autode.players.clauses import (
    FUNCTION_WORDS,
    Clause,
    Token,
    asked,
    clauses,
    content,
    facts,
    family,
    tokens,
)
from rig.methods.autode.players.questions import Alike
from rig.scoring.texts.reading.listed import vocabulary
from rig.scoring.texts.reading.stems import stem


@dataclass(frozen=True)
class Knowledge:
    """What a user knows: the values of an API's slots, who they are, and what they want and have said."""

    api: ApiDocument
    values: Mapping[str, Json]
    story: str = ""

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all words of the document, the values and the story."""
        told = [self.story, self.api.name, self.api.description, *map(str, self.values.values())]
        for parameter in self.api.parameters:
            told += [questions.spoken(parameter.name), parameter.description, *parameter.enum]
        return frozenset(stem for text in told for stem in _stems(text))


@dataclass
class Understanding:
    """What was understood: slots that were `asked` for, those of which something `false` was said, the answers to
    questions of yes or no (`closed`), and whether there was an `open` question that no slot answers.

    `flags` are truth values that were asked for, with what to say to the question as it was put.
    """

    asked: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    flags: dict[str, bool] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    closed: bool = False
    refused: bool = False
    open: bool = False
    purpose: bool = False
    name: bool = False
    general: bool = False
    confirmed: bool = False


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


_TIMES = _stemmed(
    "time date day when schedule period start end until month arrival departure urgent deadline access"
)
_PLACES = _stemmed(
    "where location place address area room station origin destination branch store city zone pharmacy shop town flat"
    " library departure"
)
_PEOPLE = _stemmed("who whom recipient person doctor author visitor passenger contact patient artist name")
_REASONS = _stemmed("why reason problem wrong purpose happened description damage matter trouble")

_LASTING = _stemmed("duration long months weeks until hours minutes")
_COUNTED = _stemmed("many much people person guests quantity degrees")
_FROM, _TO = _stemmed("origin source departure from"), _stemmed("destination new target arrival")
_NAMING = _stemmed("name title called who")

_ADJECTIVES = {
    "heavy": "weight",
    "big": "size weight quantity",
    "large": "size",
    "hot": "temperature",
    "warm": "temperature",
    "cold": "temperature",
    "bright": "brightness",
    "short": "height length",
    "high": "height limit level",
    "tall": "height",
    "low": "height level limit",
    "loud": "volume",
    "far": "distance",
    "fast": "power speed",
    "urgent": "urgency day",
    "soon": "day time urgency",
    "late": "delay time",
    "often": "time frequency interval",
    "old": "age",
    "strong": "dose strength",
    "good": "level",
    "experienced": "level",
    "expensive": "price budget value",
}
"""What "how heavy" asks for."""

_NOUNS = {
    "plate": "license",
    "registration": "license",
    "car": "license",
    "strength": "dose",
    "mode": "program",
    "shop": "store",
    "postcode": "post",
    "zip": "post",
    "membership": "member",
    "phone": "phone",
    "reach": "phone",
    "heat": "program",
    "rating": "star",
    "allergy": "diet",
    "dietary": "diet",
    "vegetarian": "diet",
    "eat": "note diet dish",
    "request": "note instruction",
    "worth": "value",
    "author": "author",
    "wrote": "author",
    "color": "colour",
    "writer": "author",
    "spend": "budget price amount",
    "cost": "budget price",
    "pay": "budget amount price",
    "food": "cuisine dish flavour",
    "dinner": "dish",
    "shift": "time",
    "trouble": "reason problem",
    "matter": "reason problem",
    "wrong": "problem reason",
    "happen": "reason problem description",
    "describe": "description",
    "damage": "description damage",
    "about": "reason",
    "special": "note instruction",
    "heading": "destination",
    "headed": "destination",
    "bag": "weight",
    "size": "size weight",
    "person": "people",
    "guest": "people",
    "compartment": "carriage",
    "seated": "seat",
    "hour": "time duration",
    "note": "message note",
    "reference": "message",
    "call": "label",
    "label": "label",
}
"""Everyday words, and the words of names or descriptions that they stand for."""

_COLOURS = vocabulary(
    "black white red green blue yellow brown grey gray orange purple pink violet silver golden beige turquoise"
)
_ALSO = {
    "collect": "pick",
    "fetch": "pick",
    "halfwai": "half",
    "halfway": "half",
    "mail": "post",
    "shut": "close",
}
"""Words that stand for a choice's."""

_FLAGS = (
    (
        vocabulary("first new"),
        vocabulary("before already again existing regular returning earlier previously"),
    ),
    (vocabulary("outside outdoors terrace patio garden"), vocabulary("inside indoors indoor")),
    (vocabulary("loan courtesy replacement rental substitute spare"), vocabulary("")),
    (vocabulary("screen projector display monitor"), vocabulary("")),
)
"""Words for what is true or false of a slot, and for the opposite."""
_NEGATED = re.compile(r"\b(?:without|not|no|don['’]t|doesn['’]t|won['’]t|never)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(?:right (?:now|away)|now|immediately|straight away|at once)\b", re.IGNORECASE)

_OPEN = re.compile(
    r"\bwhat (?:brings|can i (?:do|help)|would you like(?: me| us)? to do|do you (?:need|want)(?: me to do)?\W*$"
    r"|should i do|is (?:it|this) (?:all )?about|are you (?:trying|hoping|looking))"
    r"|\bhow (?:can|may) (?:i|we) help|\btell me (?:more|about it)|\bwhat(?:'s| is) (?:the )?(?:matter|purpose|going on)"
    r"|\bwhat seems to be\b|\bwhat happened\b|\bwhat(?:'s| is) wrong\b",
    re.IGNORECASE,
)
_MAIN = re.compile(
    r"\bwhat (?:(?:can|should|shall|may|could) (?:i|we) \w+|would you like|do you (?:feel like|want|need|fancy))",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(
    r"\byour (?:full |own |first |last )?name\b|\b(?:under|in|for) (?:what|which|whose) name\b", re.I
)
_PERMISSION = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:want|like) me to\b|\b(?:go ahead|proceed)\b|\bready\b",
    re.I,
)
_POSSESSED = re.compile(r"\b(?:your|the|his|her|its|their|\w+['’]s) ((?:\w+ ){0,3}?\w+)\W*$", re.IGNORECASE)
_IDENTIFIERS = vocabulary(
    "number name address email phone birth age password pin code id isbn brand model make account digits iban colour"
)
"""Nouns that ask for something of their own: if no slot has it, nobody should tell another value in its place."""

CLEAR, STRONG = 2.0, 3.6
"""From which degree on a question is about a slot, and from which the words of its name need not be asked."""


@lru_cache(1024)
def _stems(text: str) -> frozenset[str]:
    return frozenset(token.stem for token in tokens(text))


@dataclass(frozen=True)
class _Slot:
    """A parameter with the value that the user knows, if any, and the words by which it is spoken of."""

    parameter: Parameter
    value: Json
    is_known: bool

    @property
    def name(self) -> str:
        return self.parameter.name

    @cached_property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(map(stem, questions.spoken(self.name).split()))

    @cached_property
    def described(self) -> frozenset[str]:
        return frozenset(content(self.parameter.description)) | self.named

    @cached_property
    def words(self) -> tuple[str, ...]:
        return content(self.text)

    @cached_property
    def families(self) -> frozenset[str]:
        return frozenset(family(fact) for fact in facts(self.text)) if self.text else frozenset()

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The values that it can have: those of the document, or those that its description names."""
        if self.parameter.enum:
            return self.parameter.enum
        _, _, listed = self.parameter.description.partition("such as ")
        return tuple(filter(None, re.split(r", | or ", listed)))

    def is_about(self, words: frozenset[str]) -> bool:
        return bool(words & (self.described | _stems(self.parameter.description)))


class Reader:
    """Reads an assistant's words against what a user knows, having `said` some of it before."""

    def __init__(self, known: Knowledge, said: Sequence[str], alike: Alike | None) -> None:
        self._known = known
        self._slots = [
            _Slot(parameter, known.values.get(parameter.name), parameter.name in known.values)
            for parameter in known.api.parameters
        ]
        self._said = "\n".join(said)
        self._alike = alike
        self._found = Understanding()

    def read(self, heard: str) -> Understanding:
        """What is asked and what is false in an assistant's words."""
        found = self._found
        parts = [clause for clause in clauses(_EXAMPLES.sub(".", heard)) if not _EXAMPLE.match(clause.text)]
        choice = any(clause.kind == "wh" for clause in parts)
        if _LIST.search(heard):
            names = questions.read(heard, self._known.api).slots
            self._tell([slot for slot in self._slots if slot.name in names])
            parts = [] if names else parts
        checked = any(clause.kind == "closed" for clause in parts)
        for clause in parts:
            if clause.kind in ("wh", "tell"):
                self._asked(clause)
            elif clause.kind in ("closed", "fragment"):
                self._closed(clause)
            elif clause.kind == "statement" and (checked or _RESTATES.match(clause.text)):
                self._stated(clause, alternatives=choice)
        found.asked = [name for name in dict.fromkeys(found.asked) if name not in found.false]
        found.false = list(dict.fromkeys(found.false))
        return found

    # Open questions.

    def _asked(self, clause: Clause) -> None:
        found = self._found
        if _OWN_NAME.search(clause.text) and not any(
            slot.is_about(frozenset({"owner"})) for slot in self._slots
        ):
            found.name = True
            return
        if clause.kind != "tell" and (slots := self._offered(clause.text)):
            self._tell(slots)
            return
        if clause.asks == "when" and re.search(r"\bwhen\b.*\bto when\b", clause.text, re.I):
            self._tell([slot for slot in self._slots if "day" in slot.families or "clock" in slot.families])
            return
        is_typed = bool(clause.asks) and clause.asks not in ("what", "which", "what name", "which name")
        best, degree = self._best(clause)
        is_clear = is_typed or (degree >= STRONG and clause.kind != "tell")
        slots = [] if is_clear else self._named(clause, None)
        if self._is_elsewhere(clause):
            found.open = True
        elif slots := slots or ([best] if best and degree >= CLEAR else []):
            self._tell(slots)
        elif _OPEN.search(clause.text):
            found.purpose = True
        elif _MAIN.search(clause.text) and (slot := self._main()):
            self._tell([slot])
        elif slots := self._named(clause, None) or self._named(clause, self._alike):
            self._tell(slots)
        elif questions.read(_as_question(clause.text), self._known.api).is_general:
            found.general = True
        elif not _BACK.search(clause.text):
            found.open = True

    def _named(self, clause: Clause, alike: Alike | None) -> list[_Slot]:
        """The slots that the words of a question name, or with `alike` the one that it is nearest to."""
        if alike is not None and self._asks_for_more(clause):
            return []
        names = questions.read(_as_question(clause.text), self._known.api, alike).slots
        slots = [slot for slot in self._slots if slot.name in names and self._is_kind(slot, clause)]
        return [slot for slot in slots if clause.kind != "wh" or not isinstance(slot.value, bool)]

    def _asks_for_more(self, clause: Clause) -> bool:
        """Whether a question asks for a number, a name or the like, of something that no slot is about."""
        return bool(_IDENTIFIERS & {token.text for token in tokens(clause.text)})

    def _tell(self, slots: Iterable[_Slot]) -> None:
        for slot in slots:
            if not slot.is_known:
                self._found.unknown.append(slot.name)
            elif isinstance(slot.value, bool):
                self._found.flags.setdefault(slot.name, slot.value)
            else:
                self._found.asked.append(slot.name)

    def _is_elsewhere(self, clause: Clause) -> bool:
        """Whether a question is about something that no slot is: since when, the make of a car."""
        if re.search(r"\bsince when\b|\bhow long (?:has|have)\b", clause.text, re.I):
            return True
        nouns = _IDENTIFIERS & {token.text for token in tokens(clause.text)}
        nouns -= {"name", "number"} if clause.asks.startswith("wh") and len(nouns) > 1 else set()
        about = {
            noun
            for noun in nouns
            for slot in self._slots
            if slot.is_about(frozenset(map(stem, [noun, *_NOUNS.get(noun, "").split()])))
        }
        names = "name" in nouns and any(self._names(slot, clause) for slot in self._slots)
        return bool(nouns - about) and not names and not self._named(clause, None)

    def _best(self, clause: Clause) -> tuple[_Slot | None, float]:
        """The slot that a question is about, by its question word and by its nouns, and how clearly it is."""
        words = frozenset(content(clause.text))
        degrees = [(self._degree(slot, clause, words), slot) for slot in self._slots]
        if clause.kind == "wh":
            degrees = [pair for pair in degrees if not isinstance(pair[1].value, bool)]
        degree, best = max(degrees, key=lambda pair: pair[0], default=(0.0, None))
        return best, degree

    def _degree(self, slot: _Slot, clause: Clause, words: frozenset[str]) -> float:
        kind = self._kind_degree(slot, clause)
        if kind < 0 or (clause.kind == "wh" and slot.words and set(slot.words) <= words and slot.is_known):
            return 0.0
        shared = words & slot.named
        also = frozenset(
            stem(other)
            for token in tokens(clause.text)
            for other in f"{_words_of(_NOUNS, token)} {_ADJECTIVES.get(token.text, '')}".split()
        )
        degree = kind + 2.0 * bool(shared) + 0.4 * max(len(shared) - 1, 0)
        degree += 1.1 * min(len(words & (slot.described - slot.named)), 2)
        degree += 1.6 * bool(also & slot.named) + 0.8 * bool(also & (slot.described - slot.named))
        if slot.words and not slot.families & {"day", "clock"}:
            mine = words & frozenset(slot.words)
            degree += 1.8 * bool(mine)
        if degree and slot.is_known:
            degree += 0.3 + 0.3 * (not _is_said(slot, self._said))
        return degree

    def _kind_degree(self, slot: _Slot, clause: Clause) -> float:
        """How far a slot is of the kind that a question word asks for; negative if it cannot be."""
        asks, families = clause.asks, slot.families
        stems = slot.described | _stems(slot.parameter.description)
        timely = bool(families & {"day", "clock"}) or (not slot.is_known and bool(slot.named & _TIMES))
        match asks.split():
            case ["when"] | ["what", "time" | "day" | "date"] | ["which", "day" | "date" | "time"]:
                if not timely and not slot.named & _TIMES:
                    return -1.0
                return 2.0 + self._nearer(slot, clause, asks)
            case ["how", "long"]:
                if "duration" in families:
                    return 2.6
                if stems & _LASTING:
                    return 2.2
                return 0.2 if timely else -1.0
            case ["how", "often" | "soon"]:
                return 2.0 if timely else -1.0
            case ["how", "many"]:
                if stems & _COUNTED or families & {"number"}:
                    return 1.6 + 0.8 * ("number" in families)
                return -1.0
            case ["how", "much"]:
                if re.search(r"\bhow much (?:time|longer)\b", clause.text, re.I):
                    return 2.4 if "duration" in families or stems & _LASTING else -1.0
                if families & {"amount of money", "mass", "volume", "number"} or stems & _COUNTED:
                    return (
                        2.0
                        + 0.6 * ("amount of money" in families)
                        + 0.4 * ("much" in _stems(slot.parameter.description))
                    )
                return -1.0
            case ["how", adjective] if adjective in _ADJECTIVES:
                wanted = frozenset(map(stem, _ADJECTIVES[adjective].split()))
                order = [stem(each) for each in _ADJECTIVES[adjective].split()]
                rank = next((n for n, each in enumerate(order) if each in slot.named), None)
                if rank is not None:
                    return 2.6 - 0.2 * rank
                return 2.0 if wanted & stems else -1.0
            case ["where"]:
                return self._place_degree(slot, clause)
            case ["who" | "whom" | "whose"]:
                return 2.0 if stems & _PEOPLE else -1.0
            case ["why"]:
                return 2.4 if stems & _REASONS else -1.0
            case ["what" | "which", "number"]:
                return 1.2 if stems & {"number", "phone", "code"} else -1.0
            case ["what" | "which", "name"]:
                return 2.0 if "name" in stems else -1.0
            case _:
                if re.search(r"\bwhat\b[^,]*\bfor\W*$", clause.text, re.I):
                    return 2.0 * bool(re.search(r"\bwhat .*\bfor$", slot.parameter.description, re.I))
                return 1.7 if self._names(slot, clause) else 0.0

    def _nearer(self, slot: _Slot, clause: Clause, asks: str) -> float:
        """Which of several days and times is meant: the time of day, the first, or the last."""
        text, words = clause.text.casefold(), slot.named
        degree = 0.5 * bool(words & _TIMES)
        if asks.endswith("time"):
            degree += 0.8 * ("clock" in slot.families) + 0.3 * ("time" in words)
        if asks.endswith(("day", "date")):
            degree += 0.8 * ("day" in slot.families) + 0.3 * bool(words & {"day", "date"})
        last = re.search(r"\b(?:until|till|by when|back|return|end|finish|last)\b", text) is not None
        ends = bool(words & {"end", "until", "target", "back", "return"})
        return degree + (0.6 if last == ends else -0.4)

    def _place_degree(self, slot: _Slot, clause: Clause) -> float:
        stems = slot.named | _stems(slot.parameter.description)
        text = clause.text.casefold()
        if re.search(r"\b(?:money|refund|transfer)\b", text) and "account" in stems:
            return 2.4
        if not stems & _PLACES:
            return -1.0
        if slot.families & {"day", "clock"}:
            return -1.0
        degree = 2.0
        if slot.named & _FROM:
            degree += 0.8 if re.search(r"\bfrom\b", text) else -0.8
        if slot.named & _TO:
            degree += 0.6 if re.search(r"\b(?:to|instead|going|bring)\b", text) else -0.4
        return degree - 0.6 * bool(slot.parameter.enum)

    def _names(self, slot: _Slot, clause: Clause) -> bool:
        """Whether a question for a name, and not for another noun, can be about a slot."""
        if not re.search(r"\b(?:name|called|title)\b", clause.text, re.I):
            return False
        stems = _stems(slot.parameter.description) | slot.named
        if not stems & _NAMING:
            return False
        return True

    def _is_kind(self, slot: _Slot, clause: Clause) -> bool:
        return self._kind_degree(slot, clause) >= 0

    def _main(self) -> _Slot | None:
        """The thing that the call is about: the first required text that is no fact and was not said."""
        for slot in self._slots:
            if slot.is_known and slot.text and not slot.families and slot.parameter.mark == "required":
                if not _is_said(slot, self._said) and not slot.parameter.enum:
                    return slot
        return None

    # Questions of yes or no, choices, and what is said about what shall happen.

    def _closed(self, clause: Clause) -> None:
        found = self._found
        if slots := self._offered(clause.text):
            self._tell(slots)
            return
        if self._flagged(clause):
            return
        before = len(found.false)
        agreed = self._stated(clause, alternatives=False)
        if len(found.false) > before:
            return
        if agreed or _PERMISSION.search(clause.text) and not self._strange(clause.text):
            found.closed, found.confirmed = True, found.confirmed or agreed
            return
        about, degree = self._best(Clause(clause.text, "closed"))
        if about is not None and degree >= (1.0 if _EXISTS.match(clause.text) else CLEAR):
            self._tell([about]) if clause.kind == "fragment" or not self._strange_to(
                about, clause.text
            ) else (self._deny(about))
            return
        if clause.kind == "fragment":
            self._asked(clause)
            return
        if self._strange(clause.text) or _ABOUT_YOU.match(clause.text):
            if _WISH.search(clause.text):
                found.refused = True
            else:
                found.open = True
            return
        found.closed = True

    def _deny(self, slot: _Slot) -> None:
        if slot.is_known and slot.text:
            self._found.false.append(slot.name)
        else:
            self._tell([slot])

    def _flagged(self, clause: Clause) -> bool:
        """Whether a question is about a truth value, which it then answers."""
        plain = [token.text for token in tokens(clause.text)]
        for slot in self._slots:
            if not (slot.is_known and isinstance(slot.value, bool)):
                continue
            own = {
                token.text for token in tokens(f"{questions.spoken(slot.name)} {slot.parameter.description}")
            }
            opposite = False
            hit = bool({stem(word) for word in plain} & {stem(word) for word in own} - _COMMON_FLAG)
            for positive, negative in _FLAGS:
                if positive & own:
                    if negative & set(plain):
                        hit = opposite = True
                        opposite = not positive & set(plain)
                    hit = hit or bool(positive & set(plain))
            if hit:
                negated = bool(_NEGATED.search(re.sub(r",? \w+n['’]t (?:you|it|we)\W*$", "", clause.text)))
                negated = negated and not re.match(r"\W*\w+n['’]t\b", clause.text)
                self._found.flags.setdefault(slot.name, slot.value ^ opposite ^ negated)
                return True
        return False

    def _offered(self, text: str) -> list[_Slot]:
        """The slots of which a text offers several values to choose from."""
        if not re.search(r"\bor\b", text):
            return []
        slots = []
        here = facts(text)
        for slot in self._slots:
            if isinstance(slot.value, bool):
                continue
            named = [choice for choice in slot.choices if _mentions_choice(text, choice, slot.choices)]
            several = [fact for fact in here if family(fact) in slot.families]
            beside = re.findall(r"(\w+),? or (?:an? |the )?(\w+)", text)
            own = {stem(word.casefold()) for pair in beside for word in pair} & set(slot.words)
            if len(named) > 1 or (len(several) > 1 and len(slot.families) == 1):
                slots.append(slot)
            elif own and slot.is_known and not slot.families and not slot.parameter.enum:
                slots.append(slot)
        return slots[:1] if slots else []

    def _stated(self, clause: Clause, alternatives: bool) -> bool:
        """Note which slots a clause says something false about; whether it says something true about any."""
        text = (
            re.sub(r"\bone (?=[a-z])", "1 ", clause.text, flags=re.I)
            if clause.kind == "fragment"
            else clause.text
        )
        if alternatives and re.search(r"\bor\b", text):
            return False
        agreed, false = self._facts(text)
        for slot in self._slots:
            if not (slot.is_known and slot.text) or slot.name in agreed | set(false):
                continue
            verdict = self._compared(slot, text)
            if verdict is True:
                agreed.add(slot.name)
            elif verdict is False:
                false.append(slot.name)
        strange = self._strange_name(text, agreed | set(false))
        if strange is not None and strange.name not in false:
            false.append(strange.name)
            agreed.discard(strange.name)
        if not false and agreed and clause.kind != "closed" and (slot := self._restated(text, agreed)):
            false.append(slot.name)
        order = [slot.name for slot in self._slots]
        self._found.false += sorted(false, key=order.index)
        return bool(agreed) and not false

    def _facts(self, text: str) -> tuple[set[str], list[str]]:
        """The slots about which a text states a true fact, and those about which it states a false one."""
        agreed: set[str] = set()
        false: list[str] = []
        known = [slot for slot in self._slots if slot.is_known and slot.families]
        counted = {id(fact) for fact in facts(text) if str(fact.sort) == "number"}
        for fact in facts(text):
            same = [slot for slot in known if any(fact.agrees(own) for own in facts(slot.text))]
            if same:
                agreed |= {slot.name for slot in same}
                continue
            rivals = [slot for slot in known if family(fact) in slot.families]
            if id(fact) in counted:
                rivals = [slot for slot in rivals if _counts_for(slot, fact.said.shown, text)]
            if any(fact.agrees(own) for own in facts(self._known.story)):
                continue
            if rivals:
                false.append(max(rivals, key=lambda slot: self._closeness(slot, text)).name)
        if _NOW.search(text):
            when = [slot for slot in known if "clock" in slot.families and slot.name not in agreed]
            false += [slot.name for slot in when[:1]]
        return agreed - set(false), list(dict.fromkeys(false))

    def _closeness(self, slot: _Slot, text: str) -> tuple[int, int]:
        words = frozenset(content(text))
        return len(words & slot.described), -[each.name for each in self._slots].index(slot.name)

    def _compared(self, slot: _Slot, text: str) -> bool | None:
        """Whether a text says a slot's value (True), another in its place (False), or nothing of it."""
        words = [token.stem for token in tokens(text)]
        if slot.choices:
            named = [choice for choice in slot.choices if _mentions_choice(text, choice, slot.choices)]
            if named:
                return any(_same(choice, slot.text) for choice in named)
        if _code(slot.text):
            codes = [token for token in re.findall(r"[\w-]*\d[\w-]*", text) if len(token) > 1]
            near = [code for code in codes if _is_like(code, slot.text)]
            if near:
                return any(code.casefold() in slot.text.casefold() for code in near)
        own = slot.words
        if own and set(own) <= set(words):
            return True
        if slot.named & {"colour", "color"}:
            if others := _COLOURS & {token.text for token in tokens(text)}:
                return bool(others & {token.text for token in tokens(slot.text)})
        return False if self._is_other_kind(slot, text) else None

    def _is_other_kind(self, slot: _Slot, text: str) -> bool:
        """Whether a text has the same noun with another attribute: savings account, business account."""
        heads = {slot.words[-1]} if slot.words and not slot.families and slot.words[-1].isalpha() else set()
        topical = slot.described & (slot.named | frozenset(content(slot.parameter.description)[-1:]))
        sequence = tokens(text)
        for place, token in enumerate(sequence):
            before: list[Token] = []
            for other in reversed(sequence[:place]):
                if not other.is_content or other.text.isdigit():
                    break
                before.append(other)
            attributes = {other.stem for other in before} - set(slot.words)
            if token.stem in heads and attributes - self._known.vocabulary:
                return True
            if token.stem in topical and not heads & {token.stem} and slot.text and not slot.families:
                if attributes - self._known.vocabulary and not _is_verb(before):
                    return True
        return False

    def _strange_name(self, text: str, settled: set[str]) -> _Slot | None:
        """The slot with a name in it that a text puts another name in the place of."""
        strange = [
            token
            for token in tokens(text)
            if token.capital
            and token.is_content
            and token.stem not in self._known.vocabulary
            and not facts(token.text)
        ]
        if not strange:
            return None
        named = [
            slot
            for slot in self._slots
            if slot.is_known
            and slot.text
            and slot.name not in settled
            and slot.text[:1].isupper()
            and not slot.parameter.enum
            and not _code(slot.text)
            and not slot.families
        ]
        return max(named, key=lambda slot: self._closeness(slot, text), default=None)

    def _restated(self, text: str, agreed: set[str]) -> _Slot | None:
        """The slot whose value a text that repeats others replaces: I'll water the lawn for 25 minutes."""
        sequence = tokens(text)
        for before, token in zip(sequence, sequence[1:], strict=False):
            if (
                before.text in ("the", "a", "your")
                and token.is_content
                and token.stem not in self._known.vocabulary
            ):
                if not token.capital and token.text not in _PLAIN_NOUNS:
                    main = self._main()
                    return main if main is not None and main.name not in agreed else None
        return None

    def _strange(self, text: str) -> bool:
        """Whether a text has nouns that nothing the user knows of has."""
        return any(
            token.is_content and token.stem not in self._known.vocabulary and token.text not in _PLAIN_NOUNS
            for token in tokens(text)
        )

    def _strange_to(self, slot: _Slot, text: str) -> bool:
        """Whether a text says more of a slot than its name, and that is not its value."""
        rest = {
            token.stem
            for token in tokens(text)
            if token.is_content and token.text not in _PLAIN_NOUNS and token.text not in _NOUNS
        }
        return bool(rest - slot.described - set(slot.words) - self._known.vocabulary) and not _EXISTS.match(
            text
        )


_EXAMPLE = re.compile(
    r"^(?:for (?:example|instance)|such as|e\.?g\.?|like|the (?:available|supported))\b", re.I
)
_EXAMPLES = re.compile(
    r",? ?\((?:[^)]*)\)|,? (?:such as|e\.g\.,?|for example,|for instance,) (?![^?]*\bto\b)[^?.]*(?=[?.])",
    re.I,
)
_LIST = re.compile(r"\n\s*(?:[-*•]|\d+[.)])\s")
_BACK = re.compile(
    r"\b(?:this|that|these|those|the above|the following) (?:\w+ )?(?:details?|information|info|things?)\b",
    re.I,
)
_COMMON_FLAG = frozenset(
    map(stem, "whether is a an the to be it you need needed meanwhile for of in at".split())
)
_RESTATES = re.compile(
    r"^(?:so\b|you\b|i['’]ll\b|i will\b|i['’]m \w+ing\b|i am \w+ing\b|let me\b|your\b|ok(?:ay)?,|that['’]s\b)",
    re.I,
)
_ABOUT_YOU = re.compile(
    r"^(?:and )?(?:have|did|were|was|has|are|is|do|does) (?:you|there|anyone|it|he|she|they)\b", re.I
)
_WISH = re.compile(r"\b(?:would you like|do you want|should|shall|do you need)\b", re.I)
_EXISTS = re.compile(r"^(?:is there|are there|do you have|does anyone|any|was any|has any)\b", re.I)
_PLAIN_NOUNS = vocabulary(
    "booking order request reservation transfer payment statement appointment call ticket message note reminder search "
    "details information app account everything money name plan choice option time date day yes ahead proceed confirm "
    "confirmed ready do done start book send set place add make create submit continue look check find now that sound"
)


def _as_question(text: str) -> str:
    return f"{text.rstrip('?.! ')}?"


def _words_of(table: Mapping[str, str], token: Token) -> str:
    return table.get(token.text) or table.get(token.stem) or table.get(token.text.removesuffix("s"), "")


def _is_said(slot: _Slot, said: str) -> bool:
    return questions.mentions(said, slot.value, slot.parameter)


def _same(choice: str, value: str) -> bool:
    return _choice_words(choice) == _choice_words(value)


def _code(text: str) -> bool:
    """Whether a value is a code: a plate, the number of a ticket."""
    return bool(re.fullmatch(r"(?=.*\d)[A-Z\d][A-Z\d -]*", text)) and not re.fullmatch(r"\d{1,2}", text)


def _is_like(code: str, value: str) -> bool:
    """Whether two codes could stand for one another: letters where letters are, about as long."""
    shape = [re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", part)) for part in (code, value)]
    return code.casefold() in value.casefold().split() or shape[0] == shape[1]


def _counts_for(slot: _Slot, shown: str, text: str) -> bool:
    """Whether a plain number counts what a slot's value counts: people, and not the first of two lines."""
    after = re.search(rf"{re.escape(shown.split()[-1])}\W+(?:more )?(\w+)", text, re.I)
    noun = stem(after[1].casefold()) if after else ""
    if not noun or after is None or not tokens(after[1])[0].is_content:
        return True
    stems = slot.described | _stems(slot.parameter.description) | set(slot.words)
    return noun in stems or not _code(slot.text) and noun in _COUNTED


def _is_verb(before: Sequence[Token]) -> bool:
    return any(token.text.endswith("ing") for token in before)


@lru_cache(4096)
def _choice_words(choice: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens(choice))


def _mentions_choice(text: str, choice: str, choices: Sequence[str]) -> bool:
    """Whether a text names a choice: by its words, or by those that no other choice has."""
    here = [token.text for token in tokens(text)]
    stems = [_ALSO.get(token.text) or _ALSO.get(token.stem) or token.stem for token in tokens(text)]
    words = _choice_words(choice)
    if all(word in FUNCTION_WORDS for word in words):
        turned = re.search(r"\b(?:turn|switch)\w*\b", text, re.I) is not None
        return words[0] in here and (turned or words[0] == here[-1])
    own = [stem(word) for word in words]
    others = {stem(word) for other in choices if other != choice for word in _choice_words(other)}
    telling = [each for each in own if each not in others and len(each) > 1 or each.isdigit()] or own
    shared = [each for each in own if each in others and not each.isdigit()]
    if any(each.isdigit() for each in own):
        return any(own == stems[n : n + len(own)] for n in range(len(stems)))
    return any(_akin(each, other) for each in telling[:1] for other in stems) and (not shared or True)


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 4 and long.startswith(short))


__all__ = ["Knowledge", "Reader", "Understanding", "asked"]
