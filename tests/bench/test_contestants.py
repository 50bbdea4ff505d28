"""Every way of running the prompts gives answers that the schema accepts, whoever makes them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.engine import processes
from benchmarks.engine import prompts as files
from benchmarks.engine.child import perform
from benchmarks.engine.contestants import ENTRIES, PEERS, Entry
from benchmarks.engine.job import Job, Outcome
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.engine.recorded import Recorded
from benchmarks.engine.render import render
from rig.core.errors import RigError

MakeJob = Callable[..., Job]

YES_OR_NO = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}


def given(job: Job, *prompts: BenchPrompt) -> Job:
    """The job with prompts of others."""
    files.write(Path(job.prompts), prompts)
    return replace(job, work=None)


def decodes(tape: Path) -> list[list[object]]:
    return [operation for operation in Recorded.read(tape).operations if operation[0] == "decode"]


def installed(name: str) -> Entry:
    entry = ENTRIES[name]
    if missing := entry.missing():
        pytest.skip(f"{', '.join(missing)} not installed (extra `bench`)")
    return entry


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rig", *(entry.name for entry in PEERS)])
def test_all_answer_what_the_schema_allows(make_job: MakeJob, tmp_path: Path, name: str) -> None:
    installed(name)
    prompts = [BenchPrompt(f"p{number}", f"is {number} odd?", (), YES_OR_NO, 30) for number in range(5)]
    render(given(make_job("render", n_ctx=512, max_tokens=30), *prompts))
    job = make_job(name, n_ctx=512, work=None)
    # In a process of its own: a peer takes over signal handlers, logs and threads.
    outcome = processes.measure(job, tmp_path)
    assert [answer.id for answer in outcome.answers] == [prompt.id for prompt in prompts]
    for answer in outcome.answers:
        assert answer.finish in ("stop", "length"), answer.detail
        assert answer.valid or answer.finish == "length"  # random weights like to write whitespace
        assert 0 < (answer.tokens or 0) <= 30
        assert answer.seconds > 0
    tokens = {prompt.id: len(prompt.tokens) for prompt in files.read(Path(job.prompts))}
    assert {answer.id: answer.prompt_tokens for answer in outcome.answers} == tokens
    assert outcome.wall_s > 0
    assert outcome.cpu_s > 0
    assert set(outcome.versions) == set(ENTRIES[name].packages)


@pytest.mark.slow
def test_what_is_rendered_is_what_the_engine_reads(make_job: MakeJob) -> None:
    """From conversations and from the file that was made of them, the engine does the very same."""
    settled = render(make_job("render"))
    assert settled["n_ctx"] == 24_576
    prompts = files.read(Path(make_job("rig").prompts))
    assert [prompt.id for prompt in prompts] == ["AddAlarm-easy/1/0", "AddAlarm-easy/3/0"]
    from_work = perform(make_job("rig"))
    tape = Path(make_job("rig").tape or "")
    decoded = decodes(tape)
    from_file = perform(make_job("rig", work=None))
    assert decodes(tape) == decoded
    assert [answer.text for answer in from_file.answers] == [answer.text for answer in from_work.answers]
    assert [answer.prompt_tokens for answer in from_work.answers] == [
        len(prompt.tokens) for prompt in prompts
    ]
    assert all(prompt.separators == (", ", ": ") for prompt in prompts)
    assert all(prompt.text and "<|im_start|>system" in prompt.text for prompt in prompts)


def test_a_model_with_a_form_of_its_own_is_held_to_a_schema_too(make_job: MakeJob) -> None:
    """Its own form has no JSON Schema, which every peer needs."""
    render(make_job("render", "native-bpe"))
    prompts = files.read(Path(make_job("rig", "native-bpe").prompts))
    assert prompts
    assert all("anyOf" in prompt.schema or "type" in prompt.schema for prompt in prompts)


def test_text_of_others_becomes_tokens_and_tokens_text(make_job: MakeJob) -> None:
    job = given(
        make_job("render"),
        BenchPrompt("text", "<|im_start|>the alarm", (), YES_OR_NO, 5),
        BenchPrompt("flat", None, ((97, 98, 99, 100),), YES_OR_NO, 5),
        BenchPrompt("parts", None, ((97, 98), (99, 101)), YES_OR_NO, 5),
    )
    render(replace(job, max_tokens=9))
    text, flat, parts = files.read(Path(job.prompts))
    assert text.tokens
    assert [len(segment) for segment in text.segments][-1] == 1
    assert flat.tokens == [97, 98, 99, 100]
    assert flat.segments == ((97, 98, 99), (100,))
    assert parts.segments == ((97, 98), (99, 101))
    assert flat.text is not None
    assert len(flat.text) == 4
    assert {prompt.max_tokens for prompt in (text, flat, parts)} == {9}


@pytest.mark.parametrize(
    ("prompt", "fault"),
    [
        (BenchPrompt("p", None, ((1, 99_999),), {}, 5), "99999"),
        (BenchPrompt("p", "word " * 300, (), {}, 5), "n-ctx"),
    ],
)
def test_prompts_that_a_model_cannot_read(make_job: MakeJob, prompt: BenchPrompt, fault: str) -> None:
    with pytest.raises(RigError, match=fault):
        render(given(make_job("render", n_ctx=256), prompt))


def test_an_outcome_survives_its_file(make_job: MakeJob) -> None:
    render(make_job("render"))
    outcome = perform(make_job("rig"))
    assert Outcome.from_json(json.loads(json.dumps(outcome.as_json()))) == outcome


def test_a_process_that_dies_says_its_last_words(make_job: MakeJob, tmp_path: Path) -> None:
    job = given(make_job("nobody"), BenchPrompt("p", "a", (), {}, 1))
    with pytest.raises(processes.Failed, match=r"ended with exit code 1; it last said: KeyError: 'nobody'"):
        processes.measure(job, tmp_path)


def test_a_fault_of_the_user_is_one_in_the_child_too(make_job: MakeJob, tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"gone\.gguf"):
        processes.settle(replace(make_job("render"), model=str(tmp_path / "gone.gguf")), tmp_path)


def test_threads_wait_alike_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert processes.conditions() == {"GOMP_SPINCOUNT": "2000"}
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert processes.conditions() == {"OMP_WAIT_POLICY": "passive"}
    assert processes.environment(tmp_path)["RIG_CACHE"] == str(tmp_path)
