"""What an assistant's words ask of a user who knows some values, and which of what they say is false.

Values and words are read as facts (days, times, amounts): "when" is about a slot whose value is a day,
and "10 mg" contradicts "5 mg". What is not a fact is compared word by word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rig.methods.autode import questions
from rig.methods.autode.clauses import (
    DialogueAct,
    clauses,
    content,
    facts,
    family,
    stems,
    stems_of,
    tokens,
    words,
)
from rig.methods.autode.questions import Alike
from rig.methods.autode.slots import (
    CLEAR,
    LIKELY,
    STRONG,
    Knowledge,
    Slot,
    is_named,
    kind_degree,
    relevance,
    synonyms,
)
from rig.reading.facts import Sort
from rig.reading.lexicon import stem


@dataclass
class Understanding:
    """What was understood of an assistant's words.

    `asked` are slots to be told, `unknown` those that are asked for in vain, and `false` those of which
    something else was said. `flags` are questions of yes or no with their answers by slot, `is_closed` one to
    agree to, `is_declined` one to be declined. `is_general` asks for anything that is missing, `is_purpose`
    for what the user wants, `is_name` for their name, and `is_open` for something that nobody knows.
    """

    asked: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    flags: dict[str, bool] = field(default_factory=dict)
    is_closed: bool = False
    is_declined: bool = False
    is_general: bool = False
    is_purpose: bool = False
    is_name: bool = False
    is_open: bool = False


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_FLAGS = tuple(
    (frozenset(says.split()), frozenset(denies.split()))
    for says, denies in (
        ("first new", "before already again existing regular returning earlier previously"),
        ("outside outdoors terrace patio garden", "inside indoors indoor"),
        ("loan courtesy replacement rental substitute spare", ""),
        ("screen projector display monitor", ""),
    )
)
"""Words for what is true or false of a slot, and for the opposite."""
_ABOUT = _pattern(r"^(?:and )?(?:is|was) (?:it|this|that) (?:about|for)\b")
_TIMES = stems_of("times")
_AT = frozenset(["at", "in", "near", "to", "from", "by", "outside", "for", "clean", "behind", "opposite"])
_ARTICLES = frozenset(["a", "an", "the", "your"])
_FLAG_STOPS, _IDENTIFIERS, _PLAIN_NOUNS = stems_of("flag_stops"), words("identifiers"), words("plain")
_NEGATED = _pattern(r"\b(?:without|not|no|don['’]t|doesn['’]t|won['’]t|never)\b")
_QUESTION_TAG = _pattern(r",? \w+n['’]t (?:you|it|we)\W*$")
_NOW = _pattern(r"\b(?:right (?:now|away)|now|immediately|straight away|at once)\b")
_OPEN = _pattern(
    r"\bwhat (?:brings|can i (?:do|help)|would you like(?: me| us)? to do|do you (?:need|want)(?: me to "
    r"do)?\W*$"
    r"|should i do|is (?:it|this) (?:all )?about|are you (?:trying|hoping|looking)|seems to be\b|happened\b)"
    r"|\bhow (?:can|may) (?:i|we) help|\btell me (?:more|about it)"
    r"|\bwhat(?:['’]s| is) (?:(?:the )?(?:matter|purpose|going on)|wrong\b)"
)
_MAIN = _pattern(
    r"\bwhat (?:(?:can|should|shall|may|could) (?:i|we) \w+|would you like|do you (?:feel like|want"
    r"|need|fancy))"
)
_OWN_NAME = _pattern(
    r"\byour (?:full |own |first |last )?name\b|\b(?:under|in|for) (?:what|which|whose) name\b"
)
_PERMISSION = _pattern(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:want|like) me to\b|\b(?:go ahead|proceed)\b|\bready\b"
)
_WISH = _pattern(r"\b(?:would you like|do you want|should|shall|do you need)\b")
_FACTUAL = _pattern(
    r"^(?:and )?(?:have|did|were|was|has|are|is|do|does) (?:you|there|anyone|it|he|she|they)\b"
)
_GUESS = _pattern(r"^(?:and )?(?:is|are|was|were) (?!there\b)")
_EXISTS = _pattern(r"^(?:is there|are there|do you have|does anyone|any|was any|has any)\b")
_RESTATES = _pattern(
    r"^(?:(?:so|you|i will|let me|your)\b|i['’]ll\b|i(?:['’]m| am) \w+ing\b|ok(?:ay)?,|that['’]s\b)"
)
_ELSEWHERE = _pattern(r"\bsince when\b|\bhow long (?:has|have)\b")
_EXAMPLE = _pattern(r"^(?:for (?:example|instance)|such as|e\.?g\.?|like|the (?:available|supported))\b")
_EXAMPLES = _pattern(
    r",? ?\([^)]*\)|,? (?:such as|e\.g\.,?|for example,|for instance,) (?![^?]*\bto\b)[^?.]*(?=[?.])"
)
_LIST = re.compile(r"\n\s*(?:[-*•]|\d+[.)])\s")


def understand(knowledge: Knowledge, own: Sequence[str], heard: str, alike: Alike | None) -> Understanding:
    """What an assistant's words ask, and what is false in them; the user has said `own` before."""
    reader = _Reader(knowledge, "\n".join(own), alike)
    reader.read(heard)
    result = reader.result
    result.false = list(dict.fromkeys(result.false))
    result.asked = [name for name in dict.fromkeys(result.asked) if name not in result.false]
    return result


class _Reader:
    """Reads the clauses of an assistant's words one by one into a result."""

    def __init__(self, knowledge: Knowledge, own: str, alike: Alike | None) -> None:
        self.result = Understanding()
        self._knowledge = knowledge
        self._slots = knowledge.slots
        self._own = own
        self._alike = alike

    def read(self, heard: str) -> None:
        parts = [clause for clause in clauses(_EXAMPLES.sub(".", heard)) if not _EXAMPLE.match(clause.text)]
        if _LIST.search(heard) and (names := questions.read(heard, self._knowledge.api).slots):
            self._tell(slot for slot in self._slots if slot.name in names)
            return
        kinds = {clause.kind for clause in parts}
        for clause in parts:
            is_choice = "wh" in kinds and re.search(r"\bor\b", clause.text)
            is_told = "closed" in kinds or _RESTATES.match(clause.text)
            if clause.kind != "statement" and (slot := self._worded(clause)):
                self._tell([slot])
            elif clause.kind in ("wh", "tell"):
                self._read_question(clause)
            elif clause.kind in ("closed", "claim", "fragment"):
                self._read_closed(clause)
            elif clause.kind == "statement" and is_told and not is_choice:
                self._compare(clause)

    def _worded(self, clause: DialogueAct) -> Slot | None:
        """The slot that a question asks for in the very words of the document."""
        plain = clause.text.casefold().strip(" ?!.")
        for slot in self._slots:
            description = slot.parameter.description.casefold()
            if len(description) > 4 and (plain == description or plain.endswith(f": {description}")):
                return slot
        is_one = clause.kind in ("wh", "tell") and not re.search(r",|\band\b", plain)
        named = (rf"(?<!of )\b(?:the|your) {re.escape(questions.spoken(slot.name))}$" for slot in self._slots)
        slots = zip(self._slots, named, strict=True)
        return next((slot for slot, pattern in slots if is_one and re.search(pattern, plain)), None)

    # Questions for a value.

    def _read_question(self, clause: DialogueAct) -> None:
        if _OWN_NAME.search(clause.text) and not any("owner" in slot.stems for slot in self._slots):
            self.result.is_name = True
        elif clause.kind != "tell" and (slot := self._offered(clause.text)):
            self._tell([slot])
        elif clause.asks == "when" and re.search(r"\bto when\b", clause.text, re.IGNORECASE):
            self._tell(slot for slot in self._slots if slot.is_time and slot.named & _TIMES)
        elif self._is_elsewhere(clause):
            self.result.is_open = True
        elif slots := self._asked(clause):
            self._tell(slots)
        elif _OPEN.search(clause.text):
            self.result.is_purpose = True
        elif self._is_main(clause) and (slot := self._main()):
            self._tell([slot])
        elif slots := self._named(clause) or self._named(clause, self._alike):
            self._tell(slots)
        elif questions.read(_as_question(clause), self._knowledge.api).is_general:
            self.result.is_general = True
        elif (likely := self._best(clause))[0] is not None and likely[1] >= LIKELY:
            self._tell([likely[0]])
        elif not questions.BACK.search(clause.text):
            self.result.is_open = True

    def _asked(self, clause: DialogueAct) -> list[Slot]:
        """The slots that a question names, or the one that it is clearly about."""
        chosen = [slot for slot in self._slots if self._head(clause) in stems(" ".join(slot.parameter.enum))]
        best, degree = self._best(clause)
        if len(chosen) == 1 and degree < CLEAR:
            return chosen
        is_typed = clause.asks not in ("", "what", "which", "what name", "which name")
        is_by_name = not is_typed and (degree < STRONG or clause.kind == "tell")
        slots = self._named(clause) if is_by_name else []
        if best is None or not slots:
            return [best] if best is not None and degree >= CLEAR else slots
        noun = self._head(clause)
        is_other = noun in best.stems and not any(noun in slot.stems for slot in slots)
        return [best] if is_other else slots

    def _named(self, clause: DialogueAct, alike: Alike | None = None) -> list[Slot]:
        """The slots that the words of a question name, or with `alike` the one that it is nearest to."""
        if alike is not None and _identifiers(clause):
            return []
        names = questions.read(_as_question(clause), self._knowledge.api, alike).slots
        slots = [slot for slot in self._slots if slot.name in names and kind_degree(slot, clause) >= 0]
        return [slot for slot in slots if clause.kind != "wh" or not slot.is_flag]

    def _guessed(self, clause: DialogueAct) -> list[Slot]:
        """The slot with a text that a guess is nearest to."""
        return [slot for slot in self._named(clause, self._alike) if slot.text]

    def _best(self, clause: DialogueAct) -> tuple[Slot | None, float]:
        """The slot that a question is most about, and how much."""
        slots = [slot for slot in self._slots if clause.kind != "wh" or not slot.is_flag]
        degrees = [relevance(slot, clause, self._own) for slot in slots]
        highest = max(degrees, default=0.0)
        return (slots[degrees.index(highest)] if degrees else None), highest

    def _is_elsewhere(self, clause: DialogueAct) -> bool:
        """Whether a question is about something that no slot is: since when, the make of a car."""
        if _ELSEWHERE.search(clause.text):
            return True
        nouns = _identifiers(clause)
        if clause.asks.startswith("wh") and len(nouns) > 1:
            nouns -= {"name", "number"}
        if "name" in nouns and any(is_named(slot, clause) for slot in self._slots):
            return False
        every = frozenset().union(*(slot.stems for slot in self._slots))
        named = self._named(clause)
        if nouns & {"number", "digits", "code"} and named and not any(map(str.isdigit, named[0].text)):
            return True
        return any(synonyms(noun).isdisjoint(every) for noun in nouns) and not named

    def _is_main(self, clause: DialogueAct) -> bool:
        """Whether a question is about what the call is about: what would you like, which result."""
        noun = self._head(clause)
        return _MAIN.search(clause.text) is not None or noun in self._knowledge.topics

    def _head(self, clause: DialogueAct) -> str:
        """The stem of the noun behind "which" or "what"."""
        head = re.search(r"\b(?:which|what) (\w+)", clause.text, re.IGNORECASE)
        return stem(head[1].casefold()) if head and tokens(head[1])[0].is_content else ""

    def _main(self, also_said: bool = False) -> Slot | None:
        """What the call is about: the first text that is no fact and no choice, and was not said, required
        ones before others.
        """
        things = [slot for slot in self._slots if slot.text and not (slot.families or slot.parameter.enum)]
        things = [slot for slot in things if also_said or not slot.is_said(self._own)]
        return min(things, key=lambda slot: slot.parameter.mark != "required", default=None)

    def _tell(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            (self.result.asked if slot.is_known else self.result.unknown).append(slot.name)

    # Questions of yes or no, choices, and what is said about what shall happen.

    def _read_closed(self, clause: DialogueAct) -> None:
        if slot := self._offered(clause.text):
            self._tell([slot])
            return
        if self._answer_flag(clause) or (is_true := self._compare(clause)) is False:
            return
        strange = [token.text for token in tokens(clause.text) if self._is_strange_noun(token.text)]
        if is_true or (_PERMISSION.search(clause.text) and not strange):
            self.result.is_closed = True
            return
        slot, degree = self._best(DialogueAct(clause.text, "closed"))
        exists = _EXISTS.match(clause.text) is not None
        if slot is not None and degree >= (1.0 if exists else CLEAR):
            # What it says of the slot is not the value.
            is_new = clause.kind == "claim" or any(len(synonyms(word)) == 1 for word in strange)
            says_more = not exists and bool(strange) and is_new
            is_other = clause.kind in ("closed", "claim") and slot.text and says_more
            self.result.false.append(slot.name) if is_other else self._tell([slot])
        elif strange and (slot := self._contradicted(clause, slot if degree >= 1.0 else None)):
            self.result.false.append(slot.name)
        elif clause.kind == "fragment":
            self._read_question(clause)
        elif strange and _GUESS.match(clause.text) and (named := self._guessed(clause)):
            self.result.false.append(named[0].name)
        elif strange or _FACTUAL.match(clause.text):
            is_wish = _WISH.search(clause.text) is not None
            self.result.is_declined |= is_wish
            self.result.is_open |= not is_wish
        else:
            self.result.is_closed = True

    def _contradicted(self, clause: DialogueAct, likely: Slot | None) -> Slot | None:
        """The slot of which a clause claims what the user never said, or offers something else."""
        if clause.kind == "claim" or _ABOUT.match(clause.text):
            return self._located(clause) or likely or self._main(also_said=True)
        if not _EXISTS.match(clause.text) and (slot := self._located(clause)):
            return slot
        is_offer = _PERMISSION.search(clause.text) or _WISH.search(clause.text)
        does = stems(clause.text) & self._knowledge.actions
        return self._main(also_said=True) if is_offer and does else None

    def _located(self, clause: DialogueAct) -> Slot | None:
        """The slot of the place that a clause names: near the harbour."""
        where = DialogueAct(clause.text, "wh", "where")
        places = [slot for slot in self._slots if slot.text and kind_degree(slot, where) > 0]
        sequence = tokens(clause.text)
        is_place = any(
            self._is_strange_noun(token.text) and before.text in _ARTICLES and first.text in _AT
            for first, before, token in zip(sequence, sequence[1:], sequence[2:], strict=False)
        )
        return places[0] if is_place and places else None

    def _answer_flag(self, clause: DialogueAct) -> bool:
        """Answer a question about a truth value; False if it is about none."""
        asked = {token.text for token in tokens(clause.text)}
        for slot in filter(lambda slot: slot.is_flag, self._slots):
            name = f"{questions.spoken(slot.name)} {slot.parameter.description}"
            own = {token.text for token in tokens(name)}
            sides = [(says, denies) for says, denies in _FLAGS if says & own]
            positive = any(says & asked for says, _ in sides)
            negative = any(denies & asked for _, denies in sides)
            same = not (frozenset(map(stem, asked)) & slot.stems).issubset(_FLAG_STOPS)
            if same or positive or negative:
                rest = _QUESTION_TAG.sub("", clause.text)
                is_negated = bool(_NEGATED.search(rest)) and not re.match(r"\W*\w+n['’]t\b", rest)
                opposite = negative and not positive
                self.result.flags.setdefault(slot.name, bool(slot.value) ^ opposite ^ is_negated)
                return True
        return False

    def _offered(self, text: str) -> Slot | None:
        """The slot of which a text offers several values to choose from."""
        beside = re.findall(r"(\w+),? or (?:(?:an?|the|by|in|at|on|for) )?(\w+)", text)
        offered = {stem(word.casefold()) for pair in beside for word in pair}
        likeliest = sorted(self._slots, key=lambda slot: not any(slot.states(fact) for fact in facts(text)))
        for slot in likeliest if beside else ():
            several = [fact for fact in facts(text) if family(fact) in slot.families]
            is_named = (
                bool(offered.intersection(slot.words)) and not slot.families and not slot.parameter.enum
            )
            if len(slot.chosen(text)) > 1 or (len(several) > 1 and len(slot.families) == 1) or is_named:
                return slot
        return None

    def _compare(self, clause: DialogueAct) -> bool | None:
        """Note what a clause says falsely. Whether all it says of slots is true; None if it says nothing."""
        text = clause.text
        if clause.kind == "fragment":
            text = re.sub(r"\bone (?=[a-z])", "1 ", text, flags=re.IGNORECASE)
        true, false = self._compare_facts(text)
        for slot in self._slots:
            if slot.text and slot.name not in true | false:
                verdict = slot.compared(text, self._knowledge)
                true |= {slot.name} if verdict else set()
                false |= {slot.name} if verdict is False else set()
        guessed = [slot for slot in self._slots if slot.name in false and not slot.families]
        if any(not slot.parameter.enum for slot in guessed):
            false -= {slot.name for slot in guessed if slot.parameter.enum and not slot.chosen(text)}
        is_explained = any(not slot.families for slot in self._slots if slot.name in false)
        replaced = [None if is_explained else self._replaced_name(text, true | false)]
        if true and not (false or any(replaced)) and clause.kind != "closed":
            replaced.append(self._replaced_thing(text, true))
        false |= {slot.name for slot in replaced if slot is not None}
        self.result.false += [slot.name for slot in self._slots if slot.name in false]
        return not false if true or false else None

    def _compare_facts(self, text: str) -> tuple[set[str], set[str]]:
        """The slots about which a text states a true fact, and those about which it states a false one."""
        true: set[str] = set()
        false: set[str] = set()
        slots = [slot for slot in self._slots if slot.families]
        for fact in facts(text):
            same = {slot.name for slot in slots if any(fact.agrees(own) for own in slot.facts)}
            true |= same
            story = facts(self._knowledge.story)
            if same or any(fact.sort is own.sort and fact.agrees(own) for own in story):
                continue
            rivals = [slot for slot in slots if family(fact) in slot.families]
            if not rivals and fact.sort is Sort.CLOCK and re.search(r"\b(?:until|till)\b", text):
                rivals = [slot for slot in slots if "duration" in slot.families]
            if fact.sort is Sort.NUMBER:
                rivals = [slot for slot in rivals if slot.counts(fact.said.shown, text)]
            false |= {slot.name for slot in [_most_about(text, rivals)] if slot is not None}
        if _NOW.search(text):
            false |= {slot.name for slot in slots if "clock" in slot.families and slot.name not in true}
        return true - false, false

    def _replaced_name(self, text: str, settled: set[str]) -> Slot | None:
        """The slot with a name in it, where a text has a name that the user never heard."""
        strange = [token for token in tokens(text) if token.capital and self._knowledge.is_strange(token)]
        named = [
            slot
            for slot in self._slots
            if slot.text[:1].isupper() and slot.name not in settled
            if not (slot.parameter.enum or slot.is_code or slot.families)
        ]
        return _most_about(text, named) if any(not facts(token.text) for token in strange) else None

    def _replaced_thing(self, text: str, true: set[str]) -> Slot | None:
        """The slot whose value a text that repeats others replaces: I'll water the lawn for 25 minutes."""
        is_replaced = any(
            before.text in ("the", "a", "your") and not token.capital and self._is_strange_noun(token.text)
            for before, token in pairwise(tokens(text))
        )
        main = self._main() if is_replaced else None
        return main if main is not None and main.name not in true else None

    def _is_strange_noun(self, word: str) -> bool:
        return word not in _PLAIN_NOUNS and self._knowledge.is_strange(tokens(word)[0])


def _identifiers(clause: DialogueAct) -> frozenset[str]:
    return _IDENTIFIERS.intersection(token.text for token in tokens(clause.text))


def _most_about(text: str, slots: Iterable[Slot]) -> Slot | None:
    about, when = content(text), DialogueAct(text, "wh", "when")
    return max(
        slots,
        key=lambda slot: (len(slot.described.intersection(about)), kind_degree(slot, when)),
        default=None,
    )


def _as_question(clause: DialogueAct) -> str:
    return f"{clause.text.rstrip('?.! ')}?"
