"""BFCL's memory: what was noted in conversations answers questions, each with a memory of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from public_data import public

from rig.config.options import RunConfig
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Where
from rig.core.models import CallMessage, Prediction, Request
from rig.methods.episode import course
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.bfcl import memory, memory_classes
from rig.plugins.bfcl.memory import METHOD, MemoryScenario, Remembering, is_right
from rig.plugins.bfcl.turns import MOST_STEPS
from rig.running.planning import method_arms

METACLASS = """
class MemoryAPI:
    pass
"""
ONE_TEXT = """
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.memory_api_metaclass import MemoryAPI
from bfcl_eval.utils import is_memory_prereq
from overrides import final

class MemoryAPI_{name}(MemoryAPI):
    def __init__(self):
        self.memory = []

    @final
    def _dump_core_memory_to_context(self):
        return " ".join(self.memory) or "It is empty."

    def memory_append(self, text):
        self.memory.append(text)
        return {"status": "ok"}
"""
SEARCHED = """
import numpy as np
from sentence_transformers import SentenceTransformer
import faiss
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.memory_api_metaclass import MemoryAPI

ENCODER = SentenceTransformer("all-MiniLM-L6-v2", device="cpu")

class MemoryAPI_vector(MemoryAPI):
    def __init__(self):
        self.index = faiss.IndexIDMap(faiss.IndexFlatIP(ENCODER.get_sentence_embedding_dimension()))
        self.memory = []

    def _dump_core_memory_to_context(self):
        return "nothing"

    def memory_append(self, text):
        vector = ENCODER.encode([text], normalize_embeddings=True)
        self.index.add_with_ids(vector, np.array([len(self.memory)]))
        self.memory.append(text)

    def memory_retrieve(self, query):
        scores, ids = self.index.search(ENCODER.encode([query], normalize_embeddings=True), 1)
        return {"text": self.memory[int(ids[0][0])], "score": float(scores[0][0])}
"""
FUNCTIONS = [
    {
        "name": "memory_append",
        "description": "Notes a text.",
        "parameters": {"type": "dict", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
]


def said(*texts: str) -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": text}] for text in texts]


def write(file: Path, rows: list[Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    code = tmp_path / "code"
    code.mkdir()
    (code / "math_api.py").write_text("")
    (code / "memory_api_metaclass.py").write_text(METACLASS)
    for name in ("kv", "rec_sum"):
        (code / f"memory_{name}.py").write_text(ONE_TEXT.replace("{name}", name))
    (code / "memory_vector.py").write_text(SEARCHED)
    data = tmp_path / "data"
    for name in memory.BACKENDS:
        write(data / f"multi_turn_func_doc/memory_{name}.json", FUNCTIONS)
    talks = [said("I am Ada.", "I like tea."), said("My cat is called Kim.")]
    write(
        data / "memory_prereq_conversation/memory_notetaker.json",
        [{"id": str(number), "question": talk} for number, talk in enumerate(talks)],
    )
    asked = [("q1", "What is my name?", ["Ada"]), ("q2", "Who is Kim?", ["cat", "my cat"])]
    write(
        data / memory.FILE,
        [{"id": name, "question": said(text), "scenario": "notetaker"} for name, text, _ in asked],
    )
    write(
        data / "possible_answer" / memory.FILE,
        [{"id": name, "ground_truth": truths} for name, _, truths in asked],
    )
    monkeypatch.setenv("RIG_BFCL", str(code))
    return data / memory.FILE


def played(suite: Path, answer: Callable[[Request], Prediction], backend: str = "rec_sum") -> Remembering:
    setup = METHOD.ready({"backend": backend, "code": ""})
    task: MemoryScenario = METHOD.load(suite)[0]
    episode = Remembering(setup, task, setup.settings, Where(0, task.name), lambda _event: None, 0)
    for _ in course(episode, {"assistant": Scripted(answer)}):
        pass
    return episode


def noting(request: Request) -> Prediction:
    """Notes everything in conversations, and answers questions with the whole memory."""
    if "Answer the question" in request.context:
        return replied(f"{{'answer': 'Ada', 'context': {request.context!r}}}")
    last = request.messages[-1]
    if isinstance(last, CallMessage):
        return replied("Noted.")
    return called("memory_append", {"text": getattr(last, "text", "")})


def test_scenarios_are_conversations_and_then_questions(suite: Path) -> None:
    (task,) = METHOD.load(suite)
    assert [task.turns[turn] for turn in task.known_turns] == [
        *((0, "I am Ada."), (0, "I like tea."), (1, "My cat is called Kim.")),
        *((2, "What is my name?"), (3, "Who is Kim?")),
    ]
    assert [task.question(turn) is not None for turn in task.known_turns] == [False] * 3 + [True] * 2


def test_a_conversation_begins_with_what_was_noted_before_it(suite: Path) -> None:
    contexts: dict[int, set[str]] = {}
    lengths: list[int] = []

    def answer(request: Request) -> Prediction:
        contexts.setdefault(request.key.turn, set()).add(request.context)
        lengths.append(len(request.messages))
        return noting(request)

    episode = played(suite, answer)
    memories = [text.split("<memory>\n")[1].split("\n</memory>")[0] for (text,) in contexts.values()]
    # What the memory holds is said once, when a conversation begins.
    whole = "I am Ada. I like tea. My cat is called Kim."
    assert memories == ["It is empty."] * 2 + ["I am Ada. I like tea.", whole, whole]
    assert lengths == [1, 2, 4, 5, 1, 2, 1, 1]
    assert (episode.score().counts["correct"], episode.score().counts["strict"]) == (2, 1)


def test_questions_leave_nothing_to_the_next(suite: Path) -> None:
    def answer(request: Request) -> Prediction:
        is_question = "Answer the question" in request.context
        if is_question and not isinstance(request.messages[-1], CallMessage):
            return called("memory_append", {"text": "VANDAL"})
        return replied(request.context) if is_question else noting(request)

    replies = [turn.steps[-1].prediction.reply or "" for turn in played(suite, answer).played[-2:]]
    assert all("VANDAL" not in reply for reply in replies)


def test_a_conversation_that_never_replies_is_given_up(suite: Path) -> None:
    def answer(request: Request) -> Prediction:
        is_first = request.key.turn == 0
        return called("memory_append", {"text": "again"}) if is_first else noting(request)

    turns = played(suite, answer).played
    assert turns[0].error is ErrorKind.CALL_CAP
    assert len(turns[0].executed) == MOST_STEPS
    assert (turns[1].steps, len(turns[2].steps)) == ((), 2)


def test_a_resumed_scenario_is_played_on_as_it_was(suite: Path) -> None:
    whole = played(suite, noting)
    for length in range(len(whole.played)):
        again = Remembering(whole.setup, whole.task, whole.settings, whole.where, lambda _event: None, 0)
        for turn in whole.played[:length]:
            again.resume(turn)
        for _ in course(again, {"assistant": Scripted(noting)}):
            pass
        assert [turn.steps for turn in again.played] == [turn.steps for turn in whole.played]
        assert again.score() == whole.score()


def test_the_oracle_is_right_and_silence_is_not(suite: Path) -> None:
    oracle = METHOD.models(METHOD.load(suite))["oracle"]()
    counts = played(suite, lambda request: oracle.predict(request, lambda _piece: None)).score().counts
    assert (counts["correct"], counts["strict"], counts["questions"], counts["all"]) == (2, 2, 2, 1)
    score = played(suite, lambda _request: replied("I do not know")).score()
    assert (score.counts["correct"], score.counts["all"], len(score.faults)) == (0, 0, 2)


@pytest.mark.slow
def test_a_memory_can_be_searched_by_meaning(suite: Path) -> None:
    def answer(request: Request) -> Prediction:
        if "Answer the question" not in request.context:
            return noting(request)
        last = request.messages[-1]
        if isinstance(last, CallMessage):
            return replied(str(last.outcome.response))
        return called("memory_retrieve", {"query": "Which pet do I have?"})

    assert "cat" in str(played(suite, answer, "vector").played[-1].steps[-1].prediction.reply)


@pytest.mark.parametrize(
    ("answer", "truths", "right"),
    [
        ("probiotics", ["Probiotics"], True),
        ("It is 08:00 am.", ["08:00 AM"], True),
        ("{'answer': '8:00 AM'}", ["08:00 AM"], False),
        ("thirty-five", ["35", "thirty five"], False),
        ("He is 135", ["35"], False),
        ("18%", ["1.8"], True),
        ("The total was $49.99", ["$49.99"], False),
        ("The total was $49.99", ["49.99", "$49.99"], True),
        ("Michaels", ["Michael"], False),
        ("I think 34, 35 or 36", ["35"], True),
    ],
)
def test_answers_are_judged_as_upstream_judges_them(answer: str, truths: list[str], right: bool) -> None:
    assert is_right(answer, truths) is right


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=3))
def test_any_text_can_be_judged(answer: str, truths: list[str]) -> None:
    is_right(answer, truths)
    memory._answer_of(answer)


@pytest.mark.parametrize(
    "reply", ["{'answer': 'x'" + "(" * 9000 + "}", "{" * 15000 + "}", "{'answer': exit()}"]
)
def test_hostile_answers_have_no_part_of_that_name(reply: str) -> None:
    assert memory._answer_of(reply) == ""


def test_bad_files_are_said_in_a_line(suite: Path) -> None:
    with pytest.raises(RigError, match="backend=x: takes one of kv, rec_sum, vector"):
        method_arms(RunConfig.of(models=("oracle",), set=("backend=x",)), METHOD)
    with pytest.raises(RigError, match=r"is not BFCL's BFCL_v4_memory\.json"):
        METHOD.load(suite.parent)
    (suite.parent / "memory_prereq_conversation/memory_notetaker.json").write_text('{"id": "0"}\n')
    with pytest.raises(RigError, match="not a conversation: question is missing"):
        METHOD.load(suite)


PUBLIC, with_data = public("RIG_BFCL")


@with_data
@pytest.mark.skipif(
    not any((PUBLIC / place).is_file() for place in ("memory_kv.py", "func_source_code/memory_kv.py")),
    reason="RIG_BFCL names no checkout of BFCL's memory classes",
)
def test_the_limits_of_upstreams_own_classes() -> None:
    code = PUBLIC if (PUBLIC / "memory_kv.py").is_file() else PUBLIC / "func_source_code"
    entries = memory_classes.backend("kv", code)
    assert "error" in entries.core_memory_add("long", "x" * 301)
    assert "error" not in entries.core_memory_add("short", "x" * 300)
    assert "error" in entries.core_memory_add("Bad Key", "x")
    for number in range(6):
        assert "error" not in entries.core_memory_add(f"key_{'abcdef'[number]}", "x")
    assert "error" in entries.core_memory_add("eighth", "x")
    assert entries.core_memory_key_search("key a", 2)["ranked_results"][0][1] == "key_a"
