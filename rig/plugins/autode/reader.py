"""Find what an assistant's words ask of a user who knows some values, and what they say falsely.

Values and words are read as facts (days, times, amounts): "when" is about a slot whose value is a day,
and "10 mg" contradicts "5 mg". What is not a fact is compared word by word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rig.plugins.autode import questions
from rig.plugins.autode.clauses import (
    DialogueAct,
    clauses,
    facts,
    family,
    tokens,
    words,
)
from rig.plugins.autode.slots import (
    CLEAR,
    STRONG,
    Knowledge,
    Slot,
    flag_said,
    is_named,
    kind_degree,
    most_about,
    relevance,
    synonyms,
)
from rig.plugins.text.reading.facts import Sort
from rig.plugins.text.reading.lexicon import stem


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_IDENTIFIERS, _PLAIN_NOUNS = words("identifiers"), words("plain")
_UNTYPED = ("", "what", "which", "what name", "which name")
_OPEN = _pattern(
    r"\bwhat (?:brings|can i (?:do|help)|would you like(?: me| us)? to do|do you (?:need|want)(?: me to "
    r"do)?\W*$"
    r"|should i do|is (?:it|this) (?:all )?about|are you (?:trying|hoping|looking)|seems to be\b|happened\b)"
    r"|\bhow (?:can|may) (?:i|we) help|\btell me (?:more|about it)"
    r"|\bwhat(?:['’]s| is) (?:(?:the )?(?:matter|purpose|going on)|wrong\b)"
)
INSIDE = _pattern(r"\bwhat(?:['’]s| is| was) (?:in|inside)\b")
_OWN_NAME = _pattern(
    r"\byour (?:full |own |first |last )?name\b|\b(?:under|in|for) (?:what|which|whose) name\b"
)
_ELSEWHERE = _pattern(
    r"\bsince when\b|\bhow long (?:has|have)\b"
    r"|\bhow long (?:will|are) you (?:be |going to be )?(?:gone|away|abroad|going|staying|off)\b"
)
_EXAMPLES = _pattern(
    r",? ?\([^)]*\)|,? (?:such as|e\.g\.,?|for example,|for instance,) (?![^?]*\bto\b)[^?.]*(?=[?.])"
)
_LIST = re.compile(r"\n\s*(?:[-*•]|\d+[.)])\s")


@dataclass
class Understanding:
    """What was understood of an assistant's words.

    `asked` are slots whose values are to be given, `unknown` slots asked for without a known value, and
    `false` slots whose values were stated wrongly. `flags` are the answers to yes-or-no questions by slot;
    `is_closed` means a question to agree to, `is_declined` one to decline. `is_general` asks for anything
    that is missing, `is_purpose` for what the user wants, `is_name` for their name, and `is_open` for what no
    slot is about: `story` has it if asked what, why or since when, `claimed` if it was stated.
    `sides` are the words by which a flag was offered. `told` are sentences of the script that were asked for,
    `denied` those that were contradicted, and `stated` those about which something was said that may be
    right.
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
    story: str = ""
    claimed: str = ""
    sides: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)


def understand(knowledge: Knowledge, own: Sequence[str], heard: str) -> Understanding:
    """Return what an assistant's words ask, and what is false in them; the user has said `own` before."""
    reader = _Reader(knowledge, "\n".join(own))
    reader.read(heard)
    result = reader.result
    result.is_closed &= not result.claimed
    result.false = list(dict.fromkeys(result.false))
    result.asked = [name for name in dict.fromkeys(result.asked) if name not in result.false]
    return result


class _Reader:
    """A reader of the clauses of an assistant's words, one by one, into a result."""

    def __init__(self, knowledge: Knowledge, own: str) -> None:
        self.result = Understanding()
        self._knowledge = knowledge
        self._slots = knowledge.slots
        self._own = own

    def read(self, heard: str) -> None:
        if _LIST.search(heard) and (names := questions.read(heard, self._knowledge.api).slots):
            self._tell(slot for slot in self._slots if slot.name in names)
            return
        parts = list(clauses(_EXAMPLES.sub(".", heard)))
        is_restated = any(clause.kind == "closed" for clause in parts)
        for clause in parts:
            if clause.kind in ("wh", "tell"):
                self._read_question(clause)
            elif clause.kind in ("closed", "claim", "fragment"):
                self._read_closed(clause)
            elif clause.kind == "statement" and is_restated:
                self._compare(clause)

    # Questions for a value.

    def _read_question(self, clause: DialogueAct) -> None:
        if _OWN_NAME.search(clause.text) and not any("owner" in slot.stems for slot in self._slots):
            self.result.is_name = True
        elif clause.kind != "tell" and (slot := self._offered(clause.text)):
            self._tell([slot])
        elif self._is_elsewhere(clause):
            self._leave_open(clause)
        elif slots := self._asked(clause):
            self._tell(slots)
        elif _OPEN.search(clause.text):
            self.result.is_purpose = True
        elif slots := self._named(clause):
            self._tell(slots)
        elif questions.read(clause.question, self._knowledge.api).is_general:
            self.result.is_general = True
        elif not questions.BACK.search(clause.text):
            self._leave_open(clause)

    def _leave_open(self, clause: DialogueAct) -> None:
        self.result.is_open = True
        if clause.kind == "claim":
            self.result.claimed = clause.text
        elif not _identifiers(clause):
            self.result.story = clause.text

    def _asked(self, clause: DialogueAct) -> list[Slot]:
        """Return the slots that a question names, or the one that it is clearly about."""
        best, degree = self._best(clause)
        is_by_name = clause.asks in _UNTYPED and (degree < STRONG or clause.kind == "tell")
        slots = self._named(clause) if is_by_name else []
        return [best] if not slots and best is not None and degree >= CLEAR else slots

    def _named(self, clause: DialogueAct) -> list[Slot]:
        """Return the slots that the words of a question name."""
        names = questions.read(clause.question, self._knowledge.api).slots
        slots = [slot for slot in self._slots if slot.name in names and kind_degree(slot, clause) >= 0]
        return [slot for slot in slots if clause.kind != "wh" or not slot.is_flag]

    def _best(self, clause: DialogueAct) -> tuple[Slot | None, float]:
        """Return the slot that a question is most about, and the degree."""
        slots = [slot for slot in self._slots if clause.kind != "wh" or not slot.is_flag]
        degrees = [relevance(slot, clause, self._own) for slot in slots]
        highest = max(degrees, default=0.0)
        return (slots[degrees.index(highest)] if degrees else None), highest

    def _is_elsewhere(self, clause: DialogueAct) -> bool:
        """Return whether a question is about what no slot stands for: since when, the make of a car."""
        if _ELSEWHERE.search(clause.text) or INSIDE.search(clause.text):
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

    def _tell(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            (self.result.asked if slot.is_known else self.result.unknown).append(slot.name)

    # Yes-or-no questions, choices, and statements about what is going to happen.

    def _read_closed(self, clause: DialogueAct) -> None:
        if slot := self._offered(clause.text):
            self._tell([slot])
            return
        has_facts = bool(facts(clause.text))
        is_true = self._compare(clause) if has_facts else None
        if is_true is False or self._answer_flag(clause):
            return
        if not has_facts and (is_true := self._compare(clause)) is False:
            return
        strange = any(self._is_strange_noun(token.text) for token in tokens(clause.text))
        slot, degree = self._best(DialogueAct(clause.text, "closed"))
        if is_true or not (strange or (slot and degree >= CLEAR) or clause.kind == "fragment"):
            self.result.is_closed = True
        elif slot is not None and degree >= CLEAR:
            # What it says about the slot is not the value.
            self.result.false.append(slot.name) if strange and slot.text else self._tell([slot])
        elif clause.kind == "fragment":
            self._read_question(clause)
        else:
            self._leave_open(clause)

    def _answer_flag(self, clause: DialogueAct) -> bool:
        """Answer a question about a truth value; return False if it is about none."""
        for slot in filter(lambda slot: slot.is_flag, self._slots):
            if flag := flag_said(slot, clause.text):
                self.result.flags.setdefault(slot.name, flag.value == slot.value)
                if flag.is_either:
                    self.result.sides[slot.name] = flag.side
                return True
        return False

    def _offered(self, text: str) -> Slot | None:
        """Return the slot for which a text offers several values to choose from."""
        beside = re.findall(r"(\w+),? or (?:(?:an?|the|by|in|at|on|for) )?(\w+)", text)
        offered = {stem(word.casefold()) for pair in beside for word in pair}
        likeliest = sorted(self._slots, key=lambda slot: not any(slot.states(fact) for fact in facts(text)))
        for slot in likeliest if beside else ():
            several = [fact for fact in facts(text) if family(fact) in slot.families]
            is_named = not (offered.isdisjoint(slot.words) or slot.families or slot.parameter.enum)
            chosen = slot.chosen(text)
            is_choice = len(chosen) > 1 or bool(slot.parameter.enum and chosen)
            is_choice |= any(slot.states(fact) for fact in several)
            if is_named or is_choice or (len(several) > 1 and len(slot.families) == 1):
                return slot
        return None

    # What is said about values.

    def _compare(self, clause: DialogueAct) -> bool | None:
        """Note what a clause says falsely; return whether all it says of slots is true, None if nothing."""
        text = clause.text
        true, false = self._compare_facts(text)
        for slot in self._slots:
            if slot.text and slot.name not in true | false:
                verdict = slot.compared(text, self._knowledge)
                true |= {slot.name} if verdict else set()
                false |= {slot.name} if verdict is False else set()
        is_explained = any(not slot.families for slot in self._slots if slot.name in false)
        replaced = None if is_explained else self._replaced_name(text, true | false)
        false |= {replaced.name} if replaced else set()
        self.result.false += [slot.name for slot in self._slots if slot.name in false]
        return not false if true or false else None

    def _compare_facts(self, text: str) -> tuple[set[str], set[str]]:
        """Return the slots about which a text states only true facts, and those about which one is false."""
        true: set[str] = set()
        false: set[str] = set()
        slots = [slot for slot in self._slots if slot.families]
        story = facts(self._knowledge.story)
        told = {fact: {slot.name for slot in slots if slot.states(fact)} for fact in facts(text)}
        true.update(*told.values())
        for fact, same in told.items():
            rivals = [slot for slot in slots if family(fact) in slot.families]
            is_story = any(fact.sort is own.sort and fact.agrees(own) for own in story)
            if same or is_story:
                continue
            alike = set().union(*(names for other, names in told.items() if other.sort is fact.sort))
            rivals = [slot for slot in rivals if any(own.sort is fact.sort for own in slot.facts)] or rivals
            rivals = [slot for slot in rivals if slot.name not in alike] or rivals
            false |= {slot.name for slot in [most_about(text, rivals)] if slot is not None}
        return true - false, false

    def _replaced_name(self, text: str, settled: set[str]) -> Slot | None:
        """Return the slot whose name a text replaces by one that the user does not know, if any."""
        names = (token for token in tokens(text) if token.capital and not facts(token.text))
        strange = "|".join(token.text for token in names if self._knowledge.is_strange(token))
        named = [
            slot
            for slot in self._slots
            if slot.text[:1].isupper() and slot.name not in settled
            if not (slot.parameter.enum or slot.is_code or slot.families)
        ]
        where = DialogueAct(text, "wh", "where")
        if strange and re.search(rf"\b(?:at|in|to|from|near) (?:the )?(?:{strange})", text, re.IGNORECASE):
            named = [slot for slot in named if kind_degree(slot, where) > 0] or named
        return most_about(text, named) if strange else None

    def _is_strange_noun(self, word: str) -> bool:
        is_plain = word in _PLAIN_NOUNS or any(fact.sort is Sort.NUMBER for fact in facts(word))
        return not is_plain and self._knowledge.is_strange(tokens(word)[0])


def _identifiers(clause: DialogueAct) -> frozenset[str]:
    return _IDENTIFIERS.intersection(token.text for token in tokens(clause.text))
