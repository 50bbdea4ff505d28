"""Every fault that a proxy puts between rig and a real server is named, and none where there is none."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from real_servers import Server, fault_proxy, llama_server, rig_process

from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, Prediction, ReplyMessage, Request, StepKey, ToolDoc, UserMessage
from rig.plugins import served as serving
from rig.plugins.llama.loading import load
from rig.plugins.served.attribution import Cause, ReferenceModel, attribute
from rig.plugins.served.model import ServedModel
from rig.plugins.served.settings import ServedSettings
from rig.plugins.twins.comparison import _differ, _is_odd

pytestmark = [pytest.mark.slow, pytest.mark.model]

SETTINGS = ServedSettings(
    grammar="none",
    n_threads=1,
    parallel=1,
    n_ctx=2048,
    max_tokens=64,
    whole_prompt=True,
    flash_attention=True,
    prefix_cache=False,
)


def tool(name: str, what: str, **parameters: str) -> ToolDoc:
    properties = {name: {"type": "string", "description": text} for name, text in parameters.items()}
    return ToolDoc(name, what, {"type": "object", "properties": properties, "required": [*parameters]})


BASE = Request(
    StepKey("a"),
    "You are a helpful assistant that uses tools.",
    (
        tool("AddAlarm", "Sets an alarm for a time.", time="The time, as HH:MM:SS"),
        tool("DeleteAlarm", "Deletes an alarm.", alarm_id="The id of the alarm"),
    ),
    "Time: 2023-09-11 09:00:00",
    several_calls=True,
)
EARLIER = CallMessage(
    Call("AddAlarm", {"time": '06:30:00 "é"'}), Outcome({"alarm_id": "1234-5678"}), content="ZEBRA one moment"
)
REQUESTS = (
    replace(BASE, messages=(UserMessage("Set an alarm for 7:30 am please & don't say <b>no</b>, José."),)),
    replace(
        BASE,
        key=StepKey("b"),
        messages=(
            UserMessage("Wake me at 6:30."),
            EARLIER,
            ReplyMessage("Done: it rings at 6:30."),
            UserMessage("Delete the alarm 1234-5678 again."),
        ),
    ),
    replace(BASE, key=StepKey("c"), messages=(UserMessage("Set alarms at 06:00:00 and at 07:00:00, both."),)),
)

FAULTS = {
    "tools_dropped": ("prompt", "the tools are missing"),
    "system_added": ("prompt", "something is added"),
    "other_template": ("prompt", "the file reads"),
    "role_mangled": ("prompt", "other roles"),
    "system_replaced": ("prompt", "the system prompt is missing, or another"),
    "tools_sorted": ("prompt", "parts of it are in another order"),
    "tools_renamed": ("prompt", "tools are renamed"),
    "first_tool_only": ("prompt", "tools are missing: DeleteAlarm"),
    "descriptions_dropped": ("prompt", "descriptions of tools"),
    "lowercased": ("prompt", "upper and lower case"),
    "white_space_squeezed": ("prompt", "white space"),
    "middle_cut": ("context", "messages in the middle are cut"),
    "results_dropped": ("prompt", "a result of a tool is missing"),
    "users_merged": ("prompt", ""),
    "repeat_penalty": ("sampler", "repeat_penalty is 1.3, not 1"),
    "min_p": ("sampler", "min_p is 0.3"),
    "max_tokens": ("sampler", "max_tokens is 12, not 64"),
    "biased": ("sampler", "a bias that nobody asked for"),
    "object_arguments": ("calls", "an object, not text"),
    "values_trimmed": ("calls", "changed on the way"),
    "history_twice": ("prompt", "encoded twice"),
    "words_dropped": ("prompt", "an earlier message is missing or another: 'ZEBRA"),
    "oldest_cut": ("context", "the oldest messages are cut"),
    "escaped": ("prompt", "text is escaped"),
    "temperature_dropped": ("sampler", "temperature is 0.8, not 0"),
    "left_in_text": ("calls", "left in the text"),
    "encoded_twice": ("calls", "encoded twice"),
    "keys_renamed": ("calls", "arguments are renamed"),
    "tool_renamed": ("calls", "the tool AddAlarm is called"),
    "calls_dropped": ("calls", "calls are lost"),
    "thoughts_leaked": ("reasoning", "<think> is in the answer"),
    "stop_leaked": ("calls", "<|im_end|>"),
    "last_brace_lost": ("calls", "cut or changed"),
    "result_cut": ("context", "a message is cut"),
    "second_user_lost": ("prompt", "a message is missing"),
    "system_before": ("prompt", "the system prompt is missing, or another"),
    "parameters_bare": ("prompt", ""),
    "stop_added": ("sampler", "end at ':'"),
    "calls_doubled": ("calls", "calls are added: 2 instead of 1"),
    "calls_lost_at_times": ("calls", "lost"),
    "letters_lost": ("calls", "only where it is streamed"),
    "closed_early": ("server fault", "connection"),
    "status_500": ("server fault", "http_status"),
}


def test_an_oddity_counts_wherever_it_stands_among_the_notes() -> None:
    answer = Prediction(raw="x", reply="x")
    assert _is_odd(answer, replace(answer, salvage="a name with a prefix, two calls have one index"))
    assert not _is_odd(answer, replace(answer, salvage="no finish_reason"))


@pytest.fixture(scope="module")
def upstream(taught_tools: Path, folder: Path) -> Iterator[Server]:
    with llama_server(taught_tools, folder, n_ctx=2048) as server:
        yield server


@pytest.fixture(scope="module")
def answers(taught_tools: Path) -> list[Prediction]:
    """What the file answers in process."""
    model = load(taught_tools, SETTINGS, "twin", lambda _text: None)
    try:
        return [model.predict(request, lambda _piece: None) for request in REQUESTS]
    finally:
        model.close()


@pytest.fixture(scope="module")
def reference(taught_tools: Path) -> Iterator[ReferenceModel]:
    model = load(taught_tools, SETTINGS, "twin", lambda _text: None)
    yield ReferenceModel(model)
    model.close()


def causes(url: str, answers: list[Prediction], reference: ReferenceModel) -> Generator[Cause]:
    """The cause of each answer that differs, or is odd, as a run has it, while somebody asks for the next."""
    with closing(serving.load(url, SETTINGS, lambda _text: None)) as served:
        assert isinstance(served, ServedModel)
        for request, mine in zip(REQUESTS, answers, strict=True):
            other = served.predict(request, lambda _piece: None)
            if _differ(mine, other) or _is_odd(mine, other):
                cause = attribute(request, mine, other, reference, served)
                if cause.kind in ("calls", "reasoning") or _differ(mine, other):
                    yield cause


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(
    fault: str, upstream: Server, answers: list[Prediction], reference: ReferenceModel, tmp_path: Path
) -> None:
    kind, words = FAULTS[fault]
    with fault_proxy(upstream.url, fault, tmp_path) as proxy:
        # The first answer that shows it will do: attributing one takes many readings of its prompt.
        named = causes(proxy.url, answers, reference)
        fault_named = next((cause for cause in named if cause.kind not in serving.FAITHFUL), None)
        named.close()
    assert fault_named is not None
    assert fault_named.kind == kind
    assert words in fault_named.detail


@pytest.mark.usefixtures("connections")
def test_no_fault_is_named_where_there_is_none(
    upstream: Server, answers: list[Prediction], reference: ReferenceModel, tmp_path: Path
) -> None:
    with fault_proxy(upstream.url, "none", tmp_path) as proxy:
        for url in (upstream.url, proxy.url):
            assert {cause.kind for cause in causes(url, answers, reference)} <= set(serving.FAITHFUL)


def test_the_doctor_names_what_small_requests_show(upstream: Server, tmp_path: Path) -> None:
    healthy = rig_process("doctor", upstream.url, folder=tmp_path)
    assert healthy.returncode == 0, healthy.stdout + healthy.stderr
    for fault, name in (
        ("tools_dropped", "tools"),
        ("temperature_dropped", "sampler"),
        ("stop_leaked", "stop"),
    ):
        with fault_proxy(upstream.url, fault, tmp_path) as proxy:
            found = rig_process("doctor", proxy.url, folder=tmp_path)
        assert found.returncode == 1
        failing = [line for line in found.stdout.splitlines() if line.startswith("fail")]
        assert any(name in line for line in failing), found.stdout
