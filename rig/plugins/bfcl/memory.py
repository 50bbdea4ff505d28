"""BFCL's memory as a method: later questions have to be answered from a model's notes on conversations.

A task is a scenario: first its conversations, turn by turn, and then its questions, which all begin with the
memory that the conversations left. All questions of a scenario depend on the same notes, so they are one
task, and intervals are over scenarios.
"""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.core.calls import Fault, FaultKind, JsonObject, Verdict
from rig.core.errors import RigError
from rig.core.metrics import Declaration, Metric, Part, Score
from rig.core.models import Message, Prediction, ReplyMessage, Request, StepKey, UserMessage
from rig.core.paths import real
from rig.core.tasks import ASSISTANT, ExpectedTurn, PlayedTurn, Task
from rig.methods.base import Loaded, Method, Option
from rig.methods.scripted import replied
from rig.plugins.bfcl.checker import standard
from rig.plugins.bfcl.data import ANSWERS, EntryFunction, Words, declared_in, lines, tools_of
from rig.plugins.bfcl.data import BfclSettings as Naming
from rig.plugins.bfcl.memory_classes import backend
from rig.plugins.bfcl.turn_entries import DOCUMENTATION, Instances
from rig.plugins.bfcl.turns import Calling, MultiTurnSetup
from rig.plugins.documents.documents import Foreign, Many, parsed

BACKENDS = ("kv", "rec_sum", "vector")
"""Memories of entries under keys, of one text, and of texts that are found by meaning."""
FILE = "BFCL_v4_memory.json"
CONVERSATIONS = "memory_prereq_conversation"

INSTRUCTIONS = """\
You assist somebody over many conversations, and remember them only by what you write into your memory with
the functions you have. Note what may matter later, keep it short and up to date, and look things up before
you say that you do not know them."""
_SETTINGS: Mapping[str, str] = {
    "customer": "You work in the customer service of a company.",
    "healthcare": "You accompany a patient between appointments.",
    "student": "You help a student with studies and everyday life.",
    "finance": "You support somebody who works in finance.",
    "notetaker": "You keep somebody's notes, plans and deadlines.",
}
_MEMORIES: Mapping[str, str] = {
    "rec_sum": "Your memory is one text, which you always see.",
    **dict.fromkeys(
        ("kv", "vector"), "You always see your core memory, which is small; look things up in your archive."
    ),
}
_ANSWER = """\
Answer the question by a text of this form and nothing else: {'answer': the answer in as few words as can be,
'context': what it rests on}. If neither the conversation nor the memory has it, answer `I do not know`."""


@dataclass(frozen=True)
class MemorySettings:
    """How a model remembers: the memory is one of the `BACKENDS`."""

    backend: str

    @property
    def fingerprint(self) -> JsonObject:
        told = repr((INSTRUCTIONS, _SETTINGS, _MEMORIES, _ANSWER)).encode()
        digest = sha256(told).hexdigest()
        return {"protocol": "bfcl-memory", "backend": self.backend, "prompt_sha256": digest}


class MemoryQuestion(Foreign):
    """A question at the end. An answer is right if it contains one of the `truths`."""

    id: str
    text: str
    truths: Many[str]


class _ScenarioSource(Foreign):
    scenario: str
    conversations: Many[Many[str]]
    questions: Many[MemoryQuestion]
    functions: dict[str, Many[EntryFunction]]


class _Talk(Foreign):
    question: Many[Many[Words]]

    @property
    def texts(self) -> list[str]:
        return [" ".join(message.content for message in turn) for turn in self.question]


class _Entry(_Talk):
    id: str
    scenario: str


@dataclass(frozen=True)
class MemoryScenario(Task):
    """A scenario: what the user says in each of its conversations, and the questions."""

    name: str
    suite: str
    conversations: Sequence[Sequence[str]]
    questions: Sequence[MemoryQuestion]
    functions: Mapping[str, Sequence[JsonObject]]
    source: JsonObject

    @cached_property
    def turns(self) -> tuple[tuple[int, str], ...]:
        """For each turn, the number of its conversation or question, and what the user says."""
        entries = (*self.conversations, *([question.text] for question in self.questions))
        return tuple((number, text) for number, texts in enumerate(entries) for text in texts)

    @property
    def known_turns(self) -> tuple[int, ...]:
        return tuple(range(len(self.turns)))

    @property
    def facts(self) -> Mapping[str, str]:
        return {"scenario": self.name, "questions": str(len(self.questions))}

    def question(self, turn: int) -> MemoryQuestion | None:
        """Return the question of a turn, or None for a turn of a conversation."""
        number = self.turns[turn][0] - len(self.conversations)
        return self.questions[number] if number >= 0 else None

    def expected(self, turn: int) -> ExpectedTurn:
        question = self.question(turn)
        return ExpectedTurn((self.turns[turn][1],), reply=question.truths[0] if question else "Noted.")


class Remembering(Calling):
    """An episode of a scenario: conversations that write to a memory, and questions that read it."""

    task: MemoryScenario
    settings: MemorySettings
    verdict = "not judged: only answers are"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._written = backend(self.settings.backend, real(self.setup.code))
        self._entry = -1
        self._context = ""
        self._is_given_up = False

    def begin(self) -> None:
        """Begin the turn. A new conversation or question begins with the content of the memory."""
        entry, is_question = self.task.turns[self.turn][0], self.task.question(self.turn) is not None
        memory = copy.deepcopy(self._written) if is_question else self._written
        if entry != self._entry:
            self._entry, self._is_given_up = entry, False
            self._log.clear()
            parts = (
                _SETTINGS.get(self.task.name, ""),
                _MEMORIES[self.settings.backend],
                f"<memory>\n{memory._dump_core_memory_to_context()}\n</memory>",
                _ANSWER if is_question else "",
            )
            self._context = "\n\n".join(filter(None, parts))
        self.world = Instances({f"MemoryAPI_{self.settings.backend}": memory})
        super().begin()

    def resume(self, played: PlayedTurn) -> None:
        super().resume(played)
        self._is_given_up |= played.error is not None

    def speak(self) -> Any:
        """Play the turn, unless its conversation was given up before, as upstream does."""
        if not self._is_given_up:
            yield from super().speak()
            self._is_given_up = self.steps[-1].prediction.error is not None

    def opening(self, role: str) -> Request:
        return replace(super().opening(role), context=self._context)

    def messages(self, role: str) -> Iterable[Message]:
        return (
            UserMessage(message.text) if not speaker and isinstance(message, ReplyMessage) else message
            for speaker, message in self._log
        )

    def score(self) -> Score:
        return judge(self.task, self.played)


def judge(task: MemoryScenario, turns: Sequence[PlayedTurn]) -> Score:
    """Score the answers to a scenario's questions: the whole last reply of each turn, as upstream does.

    The strict rate only judges the value of `answer` in the reply; a reply without one is wrong.
    """
    counts: Counter[str] = Counter()
    faults = []
    for turn in turns:
        question = task.question(turn.turn)
        if question is None:
            continue
        reply = turn.steps[-1].prediction.reply if turn.steps else None
        right = reply is not None and is_right(reply, question.truths)
        is_strict = reply is not None and is_right(_answer_of(reply), question.truths)
        counts.update(questions=1, correct=right, strict=is_strict, characters=len(reply or ""))
        if not right:
            kind = FaultKind.NOT_SAID if reply is not None else FaultKind.GENERATION_FAILED
            faults.append(Fault(kind, turn.turn, f"{question.id}: {question.truths[0]} is not in the answer"))
    counts.update({"all": counts["questions"] == counts["correct"] == len(task.questions)})
    types = {fault.turn: {"answer_not_found": 1} for fault in faults}
    verdicts = tuple(Verdict(False, reason=Remembering.verdict) for turn in turns for _ in turn.executed)
    return Score(dict(counts), verdicts, types, tuple(faults))


_DROPPED = re.compile(r"[,./\-_*^()]")
"""What is ignored in an answer. Unlike in calls, spaces count."""


def is_right(text: str, truths: Iterable[str]) -> bool:
    """Return whether a text has one of the true answers as words, ignoring case and some punctuation.

    The rule is upstream's `agentic_checker`, with its oddities: "1.8" is in "18%", and no text has "$49.99",
    because no word begins at a dollar sign.
    """
    plain = standard(text, _DROPPED)
    return any(re.search(rf"\b{re.escape(standard(truth, _DROPPED))}\b", plain) for truth in truths)


def _answer_of(reply: str) -> str:
    """Return the value of `answer` in a reply with such an object, or "" if it has none."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        value = ast.literal_eval(reply[start : end + 1]) if 0 <= start < end < 20_000 else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    return str(value["answer"]) if isinstance(value, dict) and "answer" in value else ""


class MemorySetup(MultiTurnSetup):
    """The memory classes. Their code is run, so only the user says where it is."""

    grader_name = "answer"

    def check(self, task: MemoryScenario, settings: MemorySettings) -> None:  # type: ignore[override]
        """Raise RigError if the backend's class is missing."""
        backend(settings.backend, real(self.code))

    def score(self, task: MemoryScenario, turns: Sequence[PlayedTurn], settings: Any) -> Score:  # type: ignore[override]
        return judge(task, turns)


def true_reply(task: MemoryScenario, request: Request) -> Prediction:
    """Predict the true answer to a question, or in a conversation a short acknowledgement."""
    reply = task.expected(request.key.turn).reply
    is_question = task.question(request.key.turn) is not None
    return replied(str({"answer": reply, "context": ""}) if is_question else reply)


class BFCLMemory(Method):
    """The Berkeley Function Calling Leaderboard's memory category."""

    name = "bfcl-memory"
    declaration = Declaration(
        method="bfcl-memory",
        success="all",
        metrics=(
            Metric("correct", "right answers", "correct", "questions"),
            Metric("strict", "right by the part `answer` alone", "strict", "questions", place="tables"),
            Metric(
                "length",
                "characters of an answer",
                "characters",
                "questions",
                "lower",
                "number",
                place="tables",
            ),
        ),
        outcome=(Part("correct", "right", "questions"),),
        error_types="kinds of wrong answers",
    )
    options: tuple[Option, ...] = (
        Option("backend", "rec_sum", several=True, choices=tuple(BACKENDS)),
        Option("code", "", opens=True),
    )
    oracles: Mapping[str, Any] = MappingProxyType({"oracle": true_reply})
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    episode = Remembering

    def recognises(self, place: Path) -> bool:
        return place.name == FILE and place.is_file()

    def load(self, place: Path) -> Loaded:
        """Load the scenarios of the file, with the conversations beside it. Raises RigError."""
        if not self.recognises(place):
            raise RigError(f"{place}: is not BFCL's {FILE}")
        truths = {row["id"]: row.get("ground_truth") for row, _ in lines(place.parent / ANSWERS / FILE)}
        folder = place.parent / DOCUMENTATION
        documents = {name: declared_in(folder / f"memory_{name}.json") for name in BACKENDS}
        questions: dict[str, list[JsonObject]] = {}
        for row, where in lines(place):
            entry = parsed(_Entry, row, where, "an entry of BFCL's memory")
            question = {"id": entry.id, "text": " ".join(entry.texts), "truths": truths.get(entry.id)}
            questions.setdefault(entry.scenario, []).append(question)
        tasks, faults = [], []
        for scenario, asked in questions.items():
            file = place.parent / CONVERSATIONS / f"memory_{scenario}.json"
            try:
                talks = [parsed(_Talk, row, where, "a conversation").texts for row, where in lines(file)]
                source = {
                    "scenario": scenario,
                    "conversations": talks,
                    "questions": asked,
                    "functions": documents,
                }
                tasks.append(self.parse(source, f"{place}: {scenario}", "memory"))
            except RigError as error:
                faults.append(str(error))
        if not tasks:
            raise RigError(next(iter(faults), f"{place}: holds no entries"))
        return Loaded(tasks, faults)

    def parse(self, source: JsonObject, where: str, suite: str) -> MemoryScenario:
        """Make a scenario from its stored source. Raises RigError."""
        row = parsed(_ScenarioSource, source, where, "a scenario of BFCL's memory")
        if not (row.conversations and row.questions and all(question.truths for question in row.questions)):
            raise RigError(f"{where}: has no conversations, no questions, or a question without an answer")
        return MemoryScenario(
            row.scenario, suite, row.conversations, row.questions, source["functions"], source
        )

    def settings(self, values: Mapping[str, Any]) -> MemorySettings:
        return MemorySettings(values["backend"])

    def opening(self, task: MemoryScenario, settings: MemorySettings, role: str) -> Request:
        tools = tools_of(task.functions[settings.backend], "python", Naming("dots"))
        return Request(StepKey(task.name), INSTRUCTIONS, tools, several_calls=True)

    def ready(self, values: Mapping[str, Any]) -> MemorySetup:
        return MemorySetup(self, values)


METHOD: Method = BFCLMemory()
