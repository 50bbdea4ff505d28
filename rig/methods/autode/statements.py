"""Which of what an assistant says of a user's values is false.

What is a fact (a day, a time, an amount) is compared as one, and everything else word by word.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

from rig.methods.autode.clauses import DialogueAct, facts, family, stems, tokens, words
from rig.methods.autode.flags import flag_said
from rig.methods.autode.questions import Alike
from rig.methods.autode.slots import Knowledge, Slot, kind_degree, most_about
from rig.reading.facts import Sort

_AT = frozenset(["at", "in", "near", "to", "from", "by", "outside", "for", "clean", "behind", "opposite"])
_ARTICLES = frozenset(["a", "an", "the", "your"])
_BEFORE_NOUNS = frozenset(["with", "that", "it", "some", *_AT - {"to", "clean"}])
_PLAIN_NOUNS = words("plain")
_NOW = re.compile(r"\b(?:right (?:now|away)|now|immediately|straight away|at once)\b", re.IGNORECASE)


@dataclass
class Understanding:
    """What was understood of an assistant's words.

    `asked` are slots to be told, `unknown` those that are asked for in vain, and `false` those of which
    something else was said. `flags` are questions of yes or no with their answers by slot, `is_closed` one to
    agree to, `is_declined` one to be declined. `is_general` asks for anything that is missing, `is_purpose`
    for what the user wants, `is_name` for their name, and `is_open` for what no slot is about, which `story`
    has if it was asked what, why or since when, and `claimed` if it was stated. `sides` are the words by
    which a flag was offered. `told` are sentences of the script that were asked for, and `denied` those of
    which something else was said.
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


class Comparer:
    """Compares statements with what a user knows, and notes in a result what is false."""

    def __init__(self, knowledge: Knowledge, own: str, alike: Alike | None) -> None:
        self.result = Understanding()
        self._knowledge = knowledge
        self._slots = knowledge.slots
        self._own = own
        self._alike = alike

    def _compare(self, clause: DialogueAct) -> bool | None:
        """Note what a clause says falsely. Whether all it says of slots is true; None if it says nothing."""
        text = clause.text
        # The stems of what the text has one of.
        counted = stems(" ".join(re.findall(r"\bone (\w+)", text, re.IGNORECASE)))
        if clause.kind == "fragment" or any(counted.intersection(slot.words) for slot in self._slots):
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
            place = self._located(clause)
            is_place = place is not None and place.name not in true
            replaced.append(place if is_place else self._replaced_thing(clause, true))
        false |= {slot.name for slot in replaced if slot is not None}
        self.result.false += [slot.name for slot in self._slots if slot.name in false]
        return not false if true or false else None

    def _compare_flags(self, clause: DialogueAct) -> bool:
        """Note what a statement says falsely of truth values: a table outside."""
        for slot in filter(lambda slot: slot.is_flag, self._slots):
            said = flag_said(slot, clause.text)
            if said and said.is_named and said.value != slot.value:
                self.result.flags.setdefault(slot.name, False)
                self.result.is_declined = True
                return False
        return True

    def _compare_facts(self, text: str) -> tuple[set[str], set[str]]:
        """The slots about which a text states a true fact, and those about which it states a false one."""
        true: set[str] = set()
        false: set[str] = set()
        slots = [slot for slot in self._slots if slot.families]
        story = facts(self._knowledge.story)
        told = {fact: {slot.name for slot in slots if slot.states(fact)} for fact in facts(text)}
        true.update(*told.values())
        for fact, same in told.items():
            rivals = [slot for slot in slots if family(fact) in slot.families]
            is_story = any(fact.sort is own.sort and fact.agrees(own) for own in story)
            # "Saturday at 10" is about the slot whose hour it says, whatever else happens on Saturday.
            is_hours = any("clock" in slot.families and slot.name in true for slot in rivals)
            if same or (is_story and not (is_hours and fact.sort is Sort.WEEKDAY)):
                continue
            alike = set().union(*(names for other, names in told.items() if other.sort is fact.sort))
            rivals = [slot for slot in rivals if any(own.sort is fact.sort for own in slot.facts)] or rivals
            rivals = [slot for slot in rivals if slot.name not in alike] or rivals
            if not rivals and fact.sort is Sort.CLOCK and re.search(r"\b(?:until|till)\b", text):
                rivals = [slot for slot in slots if "duration" in slot.families]
            if fact.sort is Sort.NUMBER:
                rivals = [slot for slot in rivals if slot.counts(fact.said.shown, text)]
            false |= {slot.name for slot in [most_about(text, rivals)] if slot is not None}
        if _NOW.search(text):
            false |= {slot.name for slot in slots if "clock" in slot.families and slot.name not in true}
        return true - false, false

    def _replaced_name(self, text: str, settled: set[str]) -> Slot | None:
        """The slot with a name in it, where a text has a name that the user never heard."""
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

    def _replaced_thing(self, clause: DialogueAct, true: set[str]) -> Slot | None:
        """The slot whose value a clause that repeats others replaces: I'll water the lawn for 25 minutes."""
        where = DialogueAct(clause.text, "wh", "where")
        places = (slot for slot in self._slots if slot.parameter.enum and kind_degree(slot, where) > 0)
        if not self._adds(clause) or (clause.kind == "claim" and self._is_placed(clause)):
            return None
        others = (slot for slot in places if slot.name not in true)
        return self._main(clause.kind == "claim", true) or next(others, None)

    def _adds(self, clause: DialogueAct) -> bool:
        """Whether a clause names a thing of which the user never heard."""
        is_claim = clause.kind == "claim"
        said = stems(" ".join(fact.said.shown for fact in facts(clause.text)))
        return any(
            (first.text in _ARTICLES or (is_claim and (first.text in _BEFORE_NOUNS or first.text.isdigit())))
            and not (token.capital or token.stem in said)
            and self._is_strange_noun(token.text)
            for first, token in pairwise(tokens(clause.text))
        )

    def _located(self, clause: DialogueAct) -> Slot | None:
        """The slot of the place that a clause names: near the harbour."""
        where = DialogueAct(clause.text, "wh", "where")
        places = [slot for slot in self._slots if slot.text and kind_degree(slot, where) > 0]
        return places[0] if places and self._is_placed(clause) else None

    def _is_placed(self, clause: DialogueAct) -> bool:
        """Whether a clause names a place of which the user never heard."""
        sequence = tokens(clause.text)
        return any(
            self._is_strange_noun(token.text) and before.text in _ARTICLES and first.text in _AT
            for first, before, token in zip(sequence, sequence[1:], sequence[2:], strict=False)
        )

    def _main(self, also_said: bool = False, settled: Collection[str] | None = None) -> Slot | None:
        """What the call is about: the first text that is no fact and no choice, and was not said, required
        ones before others; with `settled` no name, and none of these slots.
        """
        things = [slot for slot in self._slots if slot.text and not (slot.families or slot.parameter.enum)]
        things = [slot for slot in things if also_said or not slot.is_said(self._own)]
        if settled is not None:
            things = [slot for slot in things if slot.name not in settled and not slot.text[0].isupper()]
        return min(things, key=lambda slot: slot.parameter.mark != "required", default=None)

    def _is_strange_noun(self, word: str) -> bool:
        is_plain = word in _PLAIN_NOUNS or any(fact.sort is Sort.NUMBER for fact in facts(word))
        return not is_plain and self._knowledge.is_strange(tokens(word)[0])
