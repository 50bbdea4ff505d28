"""What an assistant's words ask of a user who knows some values, and which of what they say is false.

Values and words are read as facts (days, times, amounts): "when" is about a slot whose value is a day,
and "10 mg" contradicts "5 mg". What is not a fact is compared word by word.
"""

import re
from collections.abc import Iterable, Sequence

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
from rig.methods.autode.flags import flag_said
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
from rig.methods.autode.statements import Comparer, Understanding
from rig.reading.lexicon import stem


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ABOUT = _pattern(r"^(?:and )?(?:is|was) (?:it|this|that|(?:the|your) \w+) (?:about|for)\b")
_TIMES, _REASONS, _RELATIONS = map(stems_of, ("times", "reasons", "relations"))
_IDENTIFIERS = words("identifiers")
_UNTYPED = ("", "what", "which", "what name", "which name")
_OPEN = _pattern(
    r"\bwhat (?:brings|can i (?:do|help)|would you like(?: me| us)? to do|do you (?:need|want)(?: me to "
    r"do)?\W*$"
    r"|should i do|is (?:it|this) (?:all )?about|are you (?:trying|hoping|looking)|seems to be\b|happened\b)"
    r"|\bhow (?:can|may) (?:i|we) help|\btell me (?:more|about it)"
    r"|\bwhat(?:['’]s| is) (?:(?:the )?(?:matter|purpose|going on)|wrong\b)"
)
_SERVE = _pattern(
    r"\bwhat (?:can|should|shall|may|could) (?:i|we) (?:do|help|get|arrange|look)\b"
    r"|\bwhat .*(?:us|me|the \w+) to (?:look|check|examine)\b"
)
_WRONG = _pattern(r"\b(?:wrong|the matter)\b")
_TAKEN = _pattern(r"\b(?:full|taken|closed|unavailable|not (?:available|possible)|booked up|sold out)\b")
INSIDE = _pattern(r"\bwhat(?:['’]s| is| was) (?:in|inside)\b")
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
    r"^(?:and )?(?:have|did|were|was|has|are|is|do|does) (?:you|there|anyone|it|he|she|they|your \w+)\b"
)
_EXISTS = _pattern(
    r"^(?:is there|are there|do you have|(?:does|is) (?:anyone|anybody)|any|was any|has any)\b"
)
_RESTATES = _pattern(
    r"^(?:(?:so|you|i will|let me|your)\b|i['’]ll\b|i(?:['’]m| am) \w+ing\b|ok(?:ay)?,|that['’]s\b)"
)
_ELSEWHERE = _pattern(
    r"\bsince when\b|\bhow long (?:has|have)\b"
    r"|\bhow long (?:will|are) you (?:be |going to be )?(?:gone|away|abroad|going|staying|off)\b"
)
_EVENT = _pattern(
    r"\b(?:when (?:do|does|will|did|is|are)|what time (?:do|does|is|are)"
    r"|what(?:['’]s| is) the (?:date|day|time))\b"
)
_SPAN = _pattern(r"\b(?:to|from when (?:until|till)) when\b")
_HAPPENS = _pattern(r"^(?:and )?(?:does|has|did|have) ")
_OWNED = _pattern(r"\b(?:the|your|his|her|their) (?:new |old |next )?(\w+)")
_EXAMPLE = _pattern(r"^(?:for (?:example|instance)|such as|e\.?g\.?|like|the (?:available|supported))\b")
_EXAMPLES = _pattern(
    r",? ?\([^)]*\)|,? (?:such as|e\.g\.,?|for example,|for instance,) (?![^?]*\bto\b)[^?.]*(?=[?.])"
)
_MAKES = _pattern(r"\b(?:it|you|i|we|they|he|she|to|can|will) make\b")
_LIST = re.compile(r"\n\s*(?:[-*•]|\d+[.)])\s")


def understand(knowledge: Knowledge, own: Sequence[str], heard: str, alike: Alike | None) -> Understanding:
    """What an assistant's words ask, and what is false in them; the user has said `own` before."""
    reader = _Reader(knowledge, "\n".join(own), alike)
    reader.read(heard)
    result = reader.result
    result.is_closed &= not result.claimed
    result.false = list(dict.fromkeys(result.false))
    result.asked = [name for name in dict.fromkeys(result.asked) if name not in result.false]
    return result


class _Reader(Comparer):
    """Reads the clauses of an assistant's words one by one into a result."""

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
            elif clause.kind == "statement" and is_told and not (is_choice or _TAKEN.search(clause.text)):
                self._compare(clause)
                self._compare_flags(clause)

    def _worded(self, clause: DialogueAct) -> Slot | None:
        """The slot that a question asks for in the very words of the document."""
        plain = clause.text.casefold().strip(" ?!.")
        for slot in self._slots:
            description = slot.parameter.description.casefold()
            if len(description) > 4 and (plain == description or plain.endswith(f": {description}")):
                return slot
        if clause.kind not in ("wh", "tell") or clause.asks not in _UNTYPED or re.search(r",|\band\b", plain):
            return None
        for slot in self._slots:
            if re.search(rf"(?<!of )\b(?:the|your) {re.escape(questions.spoken(slot.name))}$", plain):
                return slot
        return None

    # Questions for a value.

    def _read_question(self, clause: DialogueAct) -> None:
        if _OWN_NAME.search(clause.text) and not any("owner" in slot.stems for slot in self._slots):
            self.result.is_name = True
        elif clause.kind != "tell" and (slot := self._offered(clause.text)):
            self._tell([slot])
        elif clause.asks == "when" and _SPAN.search(clause.text):
            self._tell(slot for slot in self._slots if slot.is_time and slot.named & _TIMES)
        elif _WRONG.search(clause.text) and not any(slot.stems & _REASONS for slot in self._slots):
            self._leave_open(clause)
        elif _SERVE.search(clause.text):
            done = (
                slot
                for slot in self._slots
                if slot.parameter.description.startswith(("What to do", "What is to"))
            )
            slot = next(done, None) or self._main()
            self._tell([slot] if slot else [])
            self.result.is_purpose |= slot is None
        elif self._is_elsewhere(clause):
            self._leave_open(clause)
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
        elif self._is_main(clause) and (slot := self._main(also_said=True)):
            self._tell([slot])
        elif not questions.BACK.search(clause.text):
            self._leave_open(clause)

    def _leave_open(self, clause: DialogueAct) -> None:
        self.result.is_open = True
        if clause.kind == "claim":
            self.result.claimed = clause.text
        elif not _identifiers(clause):
            self.result.story = clause.text

    def _asked(self, clause: DialogueAct) -> list[Slot]:
        """The slots that a question names, or the one that it is clearly about."""
        chosen = [slot for slot in self._slots if self._head(clause) in stems(" ".join(slot.parameter.enum))]
        best, degree = self._best(clause)
        if len(chosen) == 1 and degree < CLEAR:
            return chosen
        is_by_name = clause.asks in _UNTYPED and (degree < STRONG or clause.kind == "tell")
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

    def _best(self, clause: DialogueAct) -> tuple[Slot | None, float]:
        """The slot that a question is most about, and how much."""
        slots = [slot for slot in self._slots if clause.kind != "wh" or not slot.is_flag]
        degrees = [relevance(slot, clause, self._own) for slot in slots]
        highest = max(degrees, default=0.0)
        return (slots[degrees.index(highest)] if degrees else None), highest

    def _is_elsewhere(self, clause: DialogueAct) -> bool:
        """Whether a question is about something that no slot is: since when, the make of a car."""
        if _ELSEWHERE.search(clause.text) or INSIDE.search(clause.text):
            return True
        if _EVENT.search(clause.text) and self._is_of_story(clause):
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

    def _is_of_story(self, clause: DialogueAct) -> bool:
        """Whether a question is about what the story has and no slot: when your guests arrive."""
        slots = frozenset().union(*(slot.stems.union(slot.words) for slot in self._slots))
        about = content(" ".join(_OWNED.findall(clause.text)))
        story = stems(self._knowledge.story)
        is_related = all(_RELATIONS.intersection(said) for said in (story, stems(clause.text)))
        story = story - slots - stems(self._knowledge.api.description)
        return bool(story.intersection(about)) or (clause.kind == "claim" and is_related)

    def _is_main(self, clause: DialogueAct) -> bool:
        """Whether a question is about what the call is about: what would you like, which result."""
        noun = self._head(clause)
        return _MAIN.search(clause.text) is not None or noun in self._knowledge.topics

    def _head(self, clause: DialogueAct) -> str:
        """The stem of the noun behind "which" or "what"."""
        head = re.search(r"\b(?:which|what) (\w+)", clause.text, re.IGNORECASE)
        return stem(head[1].casefold()) if head and tokens(head[1])[0].is_content else ""

    def _tell(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            (self.result.asked if slot.is_known else self.result.unknown).append(slot.name)

    # Questions of yes or no, choices, and what is said about what shall happen.

    def _read_closed(self, clause: DialogueAct) -> None:
        if slot := self._offered(clause.text):
            self._tell([slot])
            return
        has_facts = bool(facts(clause.text))
        is_true = self._compare(clause) if has_facts else None
        if is_true and clause.kind != "closed":
            is_true = self._compare_flags(clause)
        if is_true is False or self._answer_flag(clause):
            return
        if not has_facts and (is_true := self._compare(clause)) is False:
            return
        strange = [token.text for token in tokens(clause.text) if self._is_strange_noun(token.text)]
        is_open = self._adds(clause) if is_true else bool(strange) and self._is_of_story(clause)
        is_event = clause.kind == "closed" and _HAPPENS.match(clause.text) and not _EXISTS.match(clause.text)
        if is_event and strange and not has_facts:
            is_open = bool(is_true or stems(self._knowledge.story).intersection(content(clause.text)))
        if is_open and (is_event or clause.kind == "claim"):
            self._leave_open(clause)
            return
        if is_true or (_PERMISSION.search(clause.text) and not strange):
            self.result.is_closed = True
            return
        slot, degree = self._best(DialogueAct(clause.text, "closed"))
        exists = _EXISTS.match(clause.text) is not None
        is_wish = _WISH.search(clause.text) is not None
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
        elif strange or (_FACTUAL.match(clause.text) and not (is_wish or _ABOUT.match(clause.text))):
            if is_wish:
                self.result.is_declined = True
            else:
                self._leave_open(clause)
        else:
            self.result.is_closed = True

    def _contradicted(self, clause: DialogueAct, likely: Slot | None) -> Slot | None:
        """The slot of which a clause claims what the user never said, or offers something else."""
        if clause.kind == "claim":
            return self._located(clause) or likely or self._main(True, ())
        if _ABOUT.match(clause.text):
            reasons = (slot for slot in self._slots if slot.text and slot.stems & _REASONS)
            return self._located(clause) or next(reasons, None) or likely or self._main(also_said=True)
        if not _EXISTS.match(clause.text) and (slot := self._located(clause)):
            return slot
        is_offer = _PERMISSION.search(clause.text) or _WISH.search(clause.text)
        does = stems(clause.text) & self._knowledge.actions
        return self._main(also_said=True) if is_offer and does else None

    def _answer_flag(self, clause: DialogueAct) -> bool:
        """Answer a question about a truth value; False if it is about none."""
        for slot in filter(lambda slot: slot.is_flag, self._slots):
            if said := flag_said(slot, clause.text):
                self.result.flags.setdefault(slot.name, said.value == slot.value)
                if said.is_either:
                    self.result.sides[slot.name] = said.side
                return True
        return False

    def _offered(self, text: str) -> Slot | None:
        """The slot of which a text offers several values to choose from."""
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


def _identifiers(clause: DialogueAct) -> frozenset[str]:
    return _IDENTIFIERS.intersection(token.text for token in tokens(_MAKES.sub("", clause.text)))


def _as_question(clause: DialogueAct) -> str:
    return f"{clause.text.rstrip('?.! ')}?"
