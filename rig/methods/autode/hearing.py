"""What an assistant's words do to each thing that a user knows: a small model reads them, and facts decide.

The model says of one sentence and one thing (a slot, a sentence of the script) whether the sentence asks for
it, says it rightly, says it wrongly, or does not touch it. If the thing is a fact, such as a day or an
amount, the fact that the sentence states tells whether that is right. The rules of rig.methods.autode.reader
decide where an assistant asks in the words of the API's document, where they find what they seldom err in,
and where the model finds nothing.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rig.calls import Json
from rig.methods.autode import questions
from rig.methods.autode.clauses import facts, family, is_check, sentences
from rig.methods.autode.flags import flag_said
from rig.methods.autode.questions import Alike
from rig.methods.autode.reader import understand
from rig.methods.autode.slots import Knowledge, Slot
from rig.methods.autode.statements import Understanding
from rig.scoring.similarity.encoder import PairClassifier
from rig.scoring.similarity.minilm import directory

ADAPTER = Path(__file__).with_name("hearing.safetensors")
"""What the packaged encoder was taught for this; benchmarks/autode/train.py makes it."""
CACHED = 4096
LABELS = ("none", "asks", "true", "false")

ASKS, TOUCHES, TELLS, DENIES = 0.05, 0.2, 0.1, 0.2
"""From which likelihood on a sentence asks for a slot, says something of one, asks for a sentence of the
script, and contradicts one."""
SHARE = 0.3
"""Of the likelihood of what a sentence asks for most: what is less likely is not asked for beside it."""


class Likelihoods(NamedTuple):
    """How likely a sentence asks for a thing, says it rightly, and says it wrongly."""

    asks: float
    right: float
    wrong: float


Read: TypeAlias = Callable[[str, str], Likelihoods]
"""Reads a sentence of an assistant's beside a thing that the user knows."""


class Hearing:
    """The packaged encoder, taught to read what assistants say. Its weights are read at the first sentence.

    Safe to call from several threads. Raises RigError where the encoder is not installed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = lru_cache(CACHED)(self._probabilities)

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        """All that can change what is read, beside the encoder."""
        likelihoods = f"{ASKS} {TOUCHES} {TELLS} {DENIES} {SHARE}"
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
    """A slot as the model reads it."""
    shown = ("yes" if value else "no") if isinstance(value, bool) else value
    return f"{questions.spoken(name)}: {description}.{'' if value is None else f' {shown}'}"


def hear(knowledge: Knowledge, own: Sequence[str], heard: str, alike: Alike, read: Read) -> Understanding:
    """What an assistant's words ask, and what is false in them; the user has said `own` before."""
    by_rules = understand(knowledge, own, heard, alike)
    if _is_plain(by_rules) or questions.read(heard, knowledge.api).slots:
        return by_rules
    result = Understanding(is_name=by_rules.is_name)
    for sentence in sentences(heard):
        if not is_check(sentence):
            _hear(result, knowledge, sentence, read)
    is_touched = any((result.asked, result.unknown, result.false, result.flags, result.told, result.denied))
    if not (is_touched or result.is_closed):
        return by_rules
    result.is_closed &= not is_touched
    result.told = list(dict.fromkeys((*result.denied, *result.told)))
    return result


def _is_plain(by_rules: Understanding) -> bool:
    """Whether the rules found what they seldom err in: a contradiction, a truth value, an open question, or
    several slots.
    """
    is_open = by_rules.is_purpose or by_rules.is_general
    return is_open or bool(by_rules.false or by_rules.flags) or len(by_rules.asked) > 1


def _hear(result: Understanding, knowledge: Knowledge, sentence: str, read: Read) -> None:
    """Note what one sentence does to each thing."""
    slots = {slot: read(sentence, _described(slot)) for slot in knowledge.slots}
    told = {name: read(sentence, text) for name, text in knowledge.sentences.items()}
    most = max((reading.asks for reading in (*slots.values(), *told.values())), default=0.0)
    for slot, reading in slots.items():
        if reading.asks > max(ASKS, most * SHARE):
            _note_question(result, slot, sentence)
        elif slot.is_known and reading.right + reading.wrong > TOUCHES:
            _note_statement(result, slot, _is_right(knowledge, slot, sentence, reading))
    for name, reading in told.items():
        if reading.asks > max(TELLS, most * SHARE):
            result.told.append(name)
        elif reading.wrong > max(DENIES, reading.right):
            result.denied.append(name)
        else:
            result.is_closed |= reading.right > TOUCHES


def _described(slot: Slot) -> str:
    return described(slot.name, slot.parameter.description, slot.value if slot.is_known else None)


def _note_question(result: Understanding, slot: Slot, sentence: str) -> None:
    if not slot.is_known:
        result.unknown.append(slot.name)
    elif slot.is_flag:
        said = flag_said(slot, sentence)
        result.flags[slot.name] = said.value == slot.value if said else bool(slot.value)
        if said and said.is_either:
            result.sides[slot.name] = said.side
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


def _is_right(knowledge: Knowledge, slot: Slot, sentence: str, reading: Likelihoods) -> bool:
    """Whether what a sentence says of a slot is true."""
    likely = reading.right > reading.wrong
    if slot.is_flag:
        said = flag_said(slot, sentence)
        return said.value == slot.value if said else likely
    stated = [fact for fact in facts(sentence) if family(fact) in slot.families]
    if stated:
        sorts = {fact.sort for fact in slot.facts}
        others = [other for other in knowledge.slots if other is not slot]
        return any(map(slot.states, stated)) and all(
            slot.states(fact) or fact.sort not in sorts or any(other.states(fact) for other in others)
            for fact in stated
        )
    if slot.is_code or slot.parameter.enum:
        said_so = slot.compared(sentence, knowledge)
        return likely if said_so is None else said_so
    return likely
