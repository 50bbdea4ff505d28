"""Find what an assistant's words say about each thing a user knows: a small model reads, and facts decide.

For one sentence and one thing (a slot, a sentence of the script), the model says whether the sentence asks
for the thing, states it rightly, states it wrongly, or does not touch it. If the thing is a fact, such as a
day or an amount, the fact in the sentence decides whether it is right. The rules of rig.plugins.autode.reader
decide if an assistant asks for the purpose, for everything that is missing, or in the words of the API's
document, and if the model finds nothing. What the rules find false must be a fact, or the model must find it
to be about the slot, too.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rig.core.calls import Json
from rig.plugins.autode import questions
from rig.plugins.autode.clauses import asked, clauses, facts, family, is_check, sentences
from rig.plugins.autode.reader import Understanding, understand
from rig.plugins.autode.slots import Knowledge, Slot, flag_said
from rig.plugins.similarity.encoder import PairClassifier
from rig.plugins.similarity.minilm import directory

ADAPTER = Path(__file__).with_name("hearing.safetensors")
"""The packaged encoder's adapter for this task; benchmarks/autode/train.py makes it."""
CACHED = 4096
LABELS = ("none", "asks", "true", "false")

ASKS, TOUCHES, TELLS = 0.1, 0.2, 0.07
"""The likelihoods from which a sentence asks for a slot, speaks of a thing, or asks for a script line."""
CONFIRMS, DENIES = 0.9, 0.95
"""The shares of the likelihood that a sentence of the script is stated, rightly or wrongly, from which the
user agrees and from which the user denies. In between the user says the sentence, without a yes or no.
"""
SHARE = 0.3
"""A sentence asks only for things at least this share as likely as the one that it asks for most."""
SURE = 0.8
"""The likelihood from which something is asked for in addition to what the document's words name."""
LIKELY = 0.5
"""The likelihood from which words are about something other than what the document's words name."""
MEANT = 0.06
"""The likelihood of all labels but "none" from which words are about a slot that the rules find asked for or
stated falsely.
"""

_ASKING = frozenset(("wh", "tell", "closed", "fragment"))
_SEVERAL = re.compile(r"\?.*\?|\b(?:and|or)\b", re.DOTALL)


class Likelihoods(NamedTuple):
    """How likely it is that a sentence asks for a thing, states it rightly, and states it wrongly."""

    asks: float
    right: float
    wrong: float


Read: TypeAlias = Callable[[str, str], Likelihoods]
"""Reads an assistant's sentence together with a thing that the user knows."""


class Hearing:
    """The packaged encoder, taught to read what assistants say. Its weights are read at the first sentence.

    Safe to call from several threads. Raises RigError where the encoder is not installed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = lru_cache(CACHED)(self._probabilities)

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything apart from the encoder that can change what is read."""
        likelihoods = f"{ASKS} {TOUCHES} {TELLS} {CONFIRMS} {DENIES} {SHARE} {SURE} {LIKELY} {MEANT}"
        return {"hearing": sha256(ADAPTER.read_bytes()).hexdigest(), "hearing_likelihoods": likelihoods}

    def __call__(self, sentence: str, thing: str) -> Likelihoods:
        return self._read(sentence, thing)

    @cached_property
    def _classifier(self) -> PairClassifier:
        return PairClassifier(directory(), ADAPTER)

    def _probabilities(self, sentence: str, thing: str) -> Likelihoods:
        with self._lock:
            return Likelihoods(*self._classifier.probabilities(sentence, thing)[1:])


def described(name: str, description: str, value: Json = None) -> str:
    """Return a slot as the model reads it."""
    text = ("yes" if value else "no") if isinstance(value, bool) else value
    return f"{questions.spoken(name)}: {description}.{'' if value is None else f' {text}'}"


def hear(knowledge: Knowledge, own: Sequence[str], heard: str, read: Read) -> Understanding:
    """Return what an assistant's words ask, and what is false in them; the user has said `own` before."""
    by_rules = understand(knowledge, own, heard)
    if by_rules.is_purpose or by_rules.is_general:
        return by_rules
    texts, slots = [heard, *_parts(heard)], {slot.name: slot for slot in knowledge.slots}
    stated = {family(fact) for fact in facts(heard)}
    denied = [slots[name] for name in by_rules.false]
    # What the rules find false must be a fact, or the model must find it to be about the slot, too.
    false = [slot.name for slot in denied if stated & slot.families or _is_meant(slot, texts, read)]
    if not by_rules.false:
        if by_rules.flags or len(by_rules.asked) > 1:
            return by_rules
        is_named = bool(questions.read(heard, knowledge.api).slots)
        if is_named and not _is_elsewhere(by_rules, knowledge, texts, read):
            if _SEVERAL.search(heard):
                _note_sure(by_rules, knowledge, texts, read)
            return by_rules
    result = Understanding(is_name=by_rules.is_name)
    for part in texts[1:]:
        _hear(result, knowledge, part, read)
    if result == Understanding(is_name=result.is_name):
        by_rules.false = false or by_rules.false
        return by_rules
    if new := [name for name in false if name not in (*result.false, *result.flags)]:
        result.false += new
        result.asked = [name for name in result.asked if name not in new]
    if any((result.asked, result.unknown, result.false, result.flags, result.told, result.denied)):
        result.is_closed = False
    elif not result.is_closed:
        result.told = result.stated
    result.told = list(dict.fromkeys((*result.denied, *result.told)))
    return result


# `texts` are an assistant's words, and then their parts.


def _is_elsewhere(by_rules: Understanding, knowledge: Knowledge, texts: Sequence[str], read: Read) -> bool:
    """Return whether the model finds words to be about something else than the rules find asked for."""
    names = {*by_rules.asked, *by_rules.unknown}
    if not names or any(_is_meant(slot, texts, read) for slot in knowledge.slots if slot.name in names):
        return False
    things = [*map(_described, knowledge.slots), *knowledge.sentences.values()]
    return any(max(read(part, thing)) > LIKELY for part in texts[1:] or texts for thing in things)


def _note_sure(result: Understanding, knowledge: Knowledge, texts: Sequence[str], read: Read) -> None:
    """Note what is asked for in addition to what the document's words name, if the model is sure."""
    for slot in knowledge.slots:
        is_noted = slot.name in (*result.asked, *result.unknown)
        if not is_noted and any(read(part, _described(slot)).asks > SURE for part in texts[1:]):
            _note_question(result, slot, texts[0])
    for name, text in knowledge.sentences.items():
        if any(read(part, text).asks > SURE for part in texts[1:]):
            result.told.append(name)


def _parts(heard: str) -> Iterator[str]:
    """Yield the sentences; before one that asks several things, also each of its clauses as a question."""
    for sentence in sentences(heard):
        asking = [clause for clause in clauses(sentence) if clause.kind in _ASKING]
        asking = [clause for clause in asking if not is_check(clause.text)]
        if len(asking) > 1:
            yield from (clause.question for clause in asking)
        if not is_check(sentence):
            yield sentence


def _is_meant(slot: Slot, texts: Sequence[str], read: Read) -> bool:
    """Return whether the model finds one of some texts to be about a slot."""
    return max(sum(read(text, _described(slot))) for text in texts) > MEANT


def _hear(result: Understanding, knowledge: Knowledge, sentence: str, read: Read) -> None:
    """Note what one sentence asks or says about each thing."""
    slots = {slot: read(sentence, _described(slot)) for slot in knowledge.slots}
    told = {name: read(sentence, text) for name, text in knowledge.sentences.items()}
    most = max((reading.asks for reading in (*slots.values(), *told.values())), default=0.0)
    for slot, reading in slots.items():
        says = reading.right + reading.wrong if slot.is_known else 0.0
        if reading.asks > max(ASKS, most * SHARE) and reading.asks >= says:
            is_open = slot.is_flag or asked(sentence) or _SEVERAL.search(sentence)
            stated = None if is_open else _is_true(knowledge, slot, sentence)
            if stated is None:
                _note_question(result, slot, sentence)
            else:
                _note_statement(result, slot, stated)
        elif says > TOUCHES:
            stated = _is_true(knowledge, slot, sentence)
            _note_statement(result, slot, reading.right > reading.wrong if stated is None else stated)
    for name, reading in told.items():
        if reading.asks > max(TELLS, most * SHARE):
            result.told.append(name)
        elif (says := reading.right + reading.wrong) > TOUCHES:
            if reading.right > CONFIRMS * says:
                result.is_closed = True
            else:
                (result.denied if reading.wrong > DENIES * says else result.stated).append(name)


def _described(slot: Slot) -> str:
    return described(slot.name, slot.parameter.description, slot.value if slot.is_known else None)


def _note_question(result: Understanding, slot: Slot, sentence: str) -> None:
    if not slot.is_known:
        result.unknown.append(slot.name)
    elif slot.is_flag:
        flag = flag_said(slot, sentence)
        result.flags[slot.name] = flag.value == slot.value if flag else bool(slot.value)
        if flag and flag.is_either:
            result.sides[slot.name] = flag.side
    else:
        result.asked.append(slot.name)


def _note_statement(result: Understanding, slot: Slot, is_right: bool) -> None:
    if is_right:
        result.is_closed = True
    elif slot.is_flag:
        result.flags[slot.name] = False
        result.is_declined = True
    else:
        result.false.append(slot.name)


def _is_true(knowledge: Knowledge, slot: Slot, sentence: str) -> bool | None:
    """Return whether what a sentence states (a truth value, facts, a code, a choice) is a slot's value; None
    if it states nothing of the kind.
    """
    if slot.is_flag:
        flag = flag_said(slot, sentence)
        return None if flag is None else flag.value == slot.value
    stated = [fact for fact in facts(sentence) if family(fact) in slot.families]
    if stated:
        sorts = {fact.sort for fact in slot.facts}
        others = [other for other in knowledge.slots if other is not slot]
        return any(map(slot.states, stated)) and all(
            slot.states(fact) or fact.sort not in sorts or any(other.states(fact) for other in others)
            for fact in stated
        )
    return slot.compared(sentence, knowledge) if slot.is_code or slot.parameter.enum else None
