"""The many ways in which servers stream one answer: each is read as it is meant, or fails as what it is."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import pytest
from fake_servers import PROPS, Body, FakeServer, Reply, chunk, events, is_probe, spoken, whole

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.models import Prediction, Request, StepKey, ToolDoc, UserMessage
from rig.plugins.served.probes import load
from rig.plugins.served.settings import ServedSettings

Serve = Callable[..., FakeServer]
SSE = {"Content-Type": "text/event-stream"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = ToolDoc("weather", "Weather.", CITY), ToolDoc("bye", "", {"type": "object", "properties": {}})
OSLO = Call("weather", {"city": "Oslo"})
ROME = Call("weather", {"city": "Rome"})
BYE = Call("bye", {})
TEXT = '{"city": "Oslo"}'


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.plugins.served.wire.client.PAUSES_S", (0.02, 0.02, 0.02))
    monkeypatch.setattr("rig.plugins.served.wire.client.LOADING_S", 2.0)
    monkeypatch.setattr("rig.plugins.served.wire.client.GRACE_S", 0.1)


LEAK = f'I ask.\n<tool_call>\n{{"name": "weather", "arguments": {TEXT}}}\n</tool_call>'


def predicted(url: str, said: list[str] | None = None, **settings: Any) -> Prediction:
    """Return the prediction of one step by the server at an address."""
    model = load(url, ServedSettings(timeout=3.0, **settings), (said if said is not None else []).append)
    request = Request(StepKey("c"), "Help.", TOOLS, "", (UserMessage("Hi."),), several_calls=True)
    model.begin(0, request, lambda _: None)
    finished: list[tuple[int, Prediction]] = []
    while not finished:
        finished = model.advance()
    model.close()
    return finished[0][1]


def calls_of(prediction: Prediction) -> list[Call]:
    return [call for call in (prediction.call, *prediction.further) if call]


def piece(
    name: str | None = None, arguments: Any = None, *, index: Any = 0, id_: str | None = None
) -> dict[str, Any]:
    """A piece of a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    part = {"index": index, "id": id_}
    return {
        **{key: value for key, value in part.items() if value is not None},
        "function": {key: value for key, value in function.items() if value is not None},
    }


def called(*pieces: Any, finish: str | None = "tool_calls", done: bool = True) -> Reply:
    last = [chunk(finish)] if finish is not None else []
    return events(*(chunk(tool_calls=[part]) for part in pieces), *last, done=done)


def raw(*lines: str, kind: str = "text/event-stream") -> Reply:
    return Reply([line.encode() for line in lines], headers={"Content-Type": kind})


def line(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


HELLO = [line(chunk(content="Hel")), line(chunk(content="lo")), line(chunk("stop")), "data: [DONE]\n\n"]
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}
SPLIT = TEXT[:6], TEXT[6:]
MESSAGE = {"role": "assistant", "content": "Hello"}


def modes() -> Iterator[tuple[str, Callable[[], Reply], Any]]:
    """Each mode with its answer, and with the calls, the words or the error that it is."""
    yield "usage without choices", lambda: raw(*HELLO[:3], line(USAGE), HELLO[3]), "Hello"
    yield "choices are null", lambda: raw(*HELLO[:3], line({"choices": None, **USAGE}), HELLO[3]), "Hello"
    yield "null before", lambda: raw(line({"choices": None}), *HELLO), "Hello"
    yield "comments", lambda: raw(": OPENROUTER PROCESSING\n\n", ":\n\n", *HELLO), "Hello"
    yield "pings in JSON", lambda: raw('event: ping\ndata: {"type": "ping"}\n\n', *HELLO), "Hello"
    yield (
        "pings in words",
        lambda: raw("event: ping\ndata: 2026-11-28\n\n", "data: ping\n\n", *HELLO),
        "Hello",
    )
    yield "empty objects", lambda: raw("data: {}\n\n", "data: null\n\n", "data:\n\n", *HELLO), "Hello"
    yield "byte order mark", lambda: raw("\ufeff" + HELLO[0], *HELLO[1:]), "Hello"
    yield "carriage returns", lambda: raw(*(part.replace("\n", "\r\n") for part in HELLO)), "Hello"
    yield "returns alone", lambda: raw(*(part.replace("\n", "\r") for part in HELLO)), "Hello"
    yield "no empty lines", lambda: raw(*(part.replace("\n\n", "\n") for part in HELLO)), "Hello"
    several = json.dumps(chunk(content="Hello"), indent=1).replace("\n", "\ndata: ")
    yield "an event over lines", lambda: raw(f"id: 1\ndata: {several}\n\n", *HELLO[2:]), "Hello"
    yield "no last line end", lambda: raw(*HELLO[:2], HELLO[2].strip()), "Hello"
    yield "no space", lambda: raw(*(part.replace("data: ", "data:") for part in HELLO)), "Hello"
    yield "another type", lambda: raw(*HELLO, kind="text/plain"), "Hello"
    yield (
        "JSON by line",
        lambda: raw(*(part[6:].replace("\n\n", "\n") for part in HELLO[:3]), kind="application/x-ndjson"),
        "Hello",
    )
    yield "not streamed", lambda: whole({"choices": [{"message": MESSAGE, "finish_reason": "stop"}]}), "Hello"
    yield (
        "one object as a stream",
        lambda: raw(json.dumps({"choices": [{"message": MESSAGE, "finish_reason": "stop"}]})),
        "Hello",
    )
    yield "done without a reason", lambda: raw(*HELLO[:2], HELLO[3]), "Hello"
    yield "reason without done", lambda: raw(*HELLO[:3]), "Hello"
    yield (
        "lost after the reason",
        lambda: Reply([*raw(*HELLO[:3]).content], headers={**SSE, "Content-Length": "9999"}),
        "Hello",
    )
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    yield "content as parts", lambda: events(chunk(content=parts), chunk("stop")), "Hello"
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, parts[0]]
    yield "thoughts as parts", lambda: events(chunk(content=thinking), chunk("stop", content="lo")), "Hello"
    yield (
        "the message again",
        lambda: raw(
            *HELLO[:2], line({"choices": [{"delta": {}, "message": MESSAGE, "finish_reason": "stop"}]})
        ),
        "Hello",
    )
    yield (
        "empty reasons",
        lambda: raw(line(chunk("", content="Hel")), line(chunk("null", content="lo")), *HELLO[2:]),
        "Hello",
    )
    other = {"index": 1, "delta": {"content": "Bye"}, "finish_reason": None}
    yield (
        "a second choice",
        lambda: raw(
            line({"choices": [*chunk(content="Hello")["choices"], other]}),
            line({"choices": [other]}),
            *HELLO[2:],
        ),
        "Hello",
    )
    yield "a refusal", lambda: events(chunk(content=None, refusal="Hello"), chunk("stop")), "Hello"

    yield (
        "no index",
        lambda: called(piece("weather", SPLIT[0], index=None), piece(None, SPLIT[1], index=None)),
        [OSLO],
    )
    yield (
        "no index, two calls",
        lambda: called(
            piece("weather", TEXT, index=None), piece("weather", TEXT.replace("Oslo", "Rome"), index=None)
        ),
        [OSLO, ROME],
    )
    yield (
        "no index, an id each time",
        lambda: called(*(piece("weather", part, index=None, id_="a") for part in SPLIT)),
        [OSLO],
    )
    yield (
        "one id, several indices",
        lambda: called(
            piece("weather", "", id_="a"),
            piece(None, SPLIT[0], index=1, id_="a"),
            piece(None, SPLIT[1], index=2, id_="a"),
        ),
        [OSLO],
    )
    yield (
        "one id, two calls",
        lambda: called(piece("weather", TEXT, id_="a"), piece("bye", "{}", index=1, id_="a")),
        [OSLO, BYE],
    )
    yield (
        "one index, two calls",
        lambda: called(piece("weather", TEXT), piece("weather", TEXT.replace("Oslo", "Rome"))),
        [OSLO, ROME],
    )
    yield (
        "a name each time",
        lambda: called(*(piece("weather", part, id_="a") for part in ("", *SPLIT))),
        [OSLO],
    )
    yield (
        "a call twice",
        lambda: called(piece("weather", TEXT, id_="a"), piece("weather", TEXT, id_="a")),
        [OSLO],
    )
    yield "an index of null", lambda: called({**piece("weather", TEXT), "index": None}), [OSLO]
    yield (
        "a placeholder",
        lambda: called(piece("weather", "{}"), *(piece(None, part) for part in SPLIT)),
        [OSLO],
    )
    halves = '{"city": "\ud83d', '\ude00"}'
    yield (
        "halves of a character",
        lambda: called(piece("weather", halves[0]), piece(None, halves[1])),
        [Call("weather", {"city": "😀"})],
    )
    yield "null arguments", lambda: called(piece("bye", "null")), [BYE]
    yield "no arguments", lambda: called(piece("bye")), [BYE]
    yield (
        "an object",
        lambda: called(piece("weather", {"city": "Oslo"})),
        [OSLO],
    )
    function = {"name": "weather", "arguments": SPLIT[0]}
    yield (
        "the older form",
        lambda: events(
            chunk(function_call=function), chunk("function_call", function_call={"arguments": SPLIT[1]})
        ),
        [OSLO],
    )
    yield "a prefix", lambda: called(piece("functions.weather", TEXT)), [OSLO]
    yield "Kimi's name", lambda: called(piece("functions.weather:0", TEXT)), [OSLO]
    yield "a flat call", lambda: called({"index": 0, "id": "a", "name": "weather", "arguments": TEXT}), [OSLO]
    yield (
        "calls as an object",
        lambda: events(chunk(tool_calls=piece("weather", TEXT)), chunk("tool_calls")),
        [OSLO],
    )
    yield "a call in the thoughts", lambda: events(chunk(reasoning_content=LEAK), chunk("stop")), "invalid"
    yield "a call, done, no reason", lambda: called(piece("weather", TEXT), finish=None), [OSLO]
    yield (
        "calls with thoughts",
        lambda: events(chunk(reasoning="Hm.", tool_calls=[piece("weather", TEXT)]), chunk("tool_calls")),
        [OSLO],
    )

    texts = [
        {"index": 0, "text": part, "finish_reason": reason}
        for part, reason in (("Hello", None), ("", "stop"))
    ]
    yield "text of a choice", lambda: events(*({"choices": [choice]} for choice in texts)), "Hello"
    yield (
        "JSON by line, as JSON",
        lambda: raw(*(part[6:].replace("\n\n", "\n") for part in HELLO[:3]), kind="application/json"),
        "Hello",
    )
    yield (
        "a list of events",
        lambda: Reply([json.dumps([chunk(content="Hello"), chunk("stop")]).encode()]),
        "Hello",
    )
    yield (
        "null among calls",
        lambda: events(chunk(content="Hello", tool_calls=[None]), chunk("stop")),
        "Hello",
    )
    yield (
        "arguments that grow",
        lambda: called(*(piece("weather", TEXT[:end], id_="a") for end in (3, 9, 16))),
        [OSLO],
    )
    yield "a name with blanks", lambda: called(piece(" weather\n", TEXT)), [OSLO]

    yield "cut within words", lambda: raw(HELLO[0]), "connection"
    yield "cut within an event", lambda: raw(HELLO[0], HELLO[1][:20]), "connection"
    yield "nothing at all", lambda: raw(""), "connection"
    yield "cut within a call", lambda: called(piece("weather", SPLIT[0]), finish=None), "connection"
    yield "no choices ever", lambda: events({"message": {"content": "Hello"}, "done": True}), "malformed"
    yield "no name", lambda: called(piece(None, TEXT)), "malformed"
    yield "calls that are missing", lambda: events(chunk(content=""), chunk("tool_calls")), "malformed"
    yield "compressed", lambda: Reply([b"\x1f\x8b"], headers={**SSE, "Content-Encoding": "gzip"}), "malformed"
    yield (
        "filtered, then lost",
        lambda: Reply(
            [*events(chunk("content_filter"), done=False).content], headers={**SSE, "Content-Length": "9999"}
        ),
        "http_status",
    )
    yield "filtered", lambda: events(chunk(content="He"), chunk("content_filter")), "http_status"
    yield "an error event", lambda: raw("event: error\ndata: it broke\n\n"), "http_status"
    yield "an error as an object", lambda: events({"object": "error", "message": "it broke"}), "http_status"
    too_long = {"message": "no", "code": "context_length_exceeded"}
    yield "too long, by its code", lambda: events({"error": too_long}), "context"
    yield "too long, said late", lambda: events({"error": {"message": "exceeds the context size"}}), "context"
    yield "cut by the limit in capitals", lambda: events(chunk("MAX_TOKENS", content="He")), "truncated"
    yield "cut by the limit", lambda: events(chunk("max_tokens", content="He")), "truncated"
    yield "thoughts alone", lambda: events(chunk(reasoning_content="Hm."), chunk("stop")), "invalid"


@pytest.mark.parametrize(
    ("reply", "meaning"), [mode[1:] for mode in modes()], ids=[mode[0] for mode in modes()]
)
def test_each_way_to_stream_is_read_as_it_is_meant(
    serve: Serve, reply: Callable[[], Reply], meaning: Any
) -> None:
    prediction = predicted(serve(lambda _body: reply()).url)
    if isinstance(meaning, list):
        assert (calls_of(prediction), prediction.error) == (meaning, None)
    elif meaning == "Hello":
        assert (prediction.reply, prediction.error) == (meaning, None)
    else:
        assert prediction.error == meaning
        assert calls_of(prediction) == []


def test_halves_of_a_character_in_words_are_joined(serve: Serve) -> None:
    reply = events(chunk(content="a\ud83d"), chunk(content="\ude00b\ud83d"), chunk("stop"))
    assert predicted(serve(lambda _body: reply).url).reply == "a😀b?"


def test_what_a_client_has_to_overlook_is_noted(serve: Serve) -> None:
    notes = {
        name: predicted(serve(lambda _body, reply=reply: reply()).url).salvage
        for name, reply, _ in modes()
        if name in ("done without a reason", "a prefix", "one index, two calls", "Hello")
    }
    assert notes == {
        "done without a reason": "no finish_reason",
        "a prefix": "a name with a prefix",
        "one index, two calls": "two calls have one index",
    }


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        ({"content": f'```json\n{{"name": "weather", "arguments": {TEXT}}}\n```'}, "fenced JSON"),
        ({"content": LEAK.partition("\n")[2]}, "<tool_call>"),
        ({"reasoning_content": LEAK}, "within the thoughts"),
    ],
)
def test_calls_that_a_server_left_in_the_text_are_words_unless_it_is_read_leniently(
    serve: Serve, reply: dict[str, str], form: str
) -> None:
    url = serve(lambda _body: events(chunk(**reply), chunk("stop"))).url
    strict, lenient = predicted(url), predicted(url, leaked="lenient")
    assert strict.form == lenient.form == f"leaked: {form}"
    assert calls_of(lenient) == [OSLO]
    assert (strict.call, strict.reply) == (None, reply.get("content"))


def test_a_connection_that_stays_open_after_the_answer_is_closed(serve: Serve) -> None:
    waiting = threading.Event()

    def open_end() -> Iterator[bytes]:
        yield from (part.encode() for part in HELLO[:3])
        waiting.wait(2)

    began = time.monotonic()
    prediction = predicted(serve(lambda _body: Reply(open_end(), headers=SSE)).url)
    waiting.set()
    assert (prediction.reply, time.monotonic() - began < 2) == ("Hello", True)


LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}


def later(reply: Reply) -> Reply:
    return Reply(list(reply.content), 503, {**reply.headers, "Retry-After": "0.3"})


@pytest.mark.parametrize(
    "busy",
    [
        lambda: whole(LOADING, 503),
        lambda: later(whole({"error": "overloaded"})),
        lambda: Reply([], 429, {"Retry-After": formatdate(time.time() + 1, usegmt=True)}),
        lambda: events(LOADING),
    ],
    ids=["loading", "seconds", "date", "said in a stream"],
)
def test_a_busy_server_is_waited_for_and_that_is_said(serve: Serve, busy: Callable[[], Reply]) -> None:
    replies = iter([busy(), busy(), spoken("Hello")])
    said: list[str] = []
    assert predicted(serve(lambda _body: next(replies)).url, said).reply == "Hello"
    assert len([text for text in said if "; waiting " in text]) == 2


def test_a_wait_that_is_too_long_is_said_and_not_made(serve: Serve) -> None:
    began = time.monotonic()
    prediction = predicted(serve(lambda _body: Reply([b"{}"], 429, {"Retry-After": "3600"})).url)
    assert time.monotonic() - began < 2
    assert prediction.error == "http_status"
    assert "it asks to wait 3600 s" in prediction.error_detail


def test_a_server_that_loads_its_model_is_not_unknown(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda _body: spoken("Hello"))
    ready = dict(server.others)
    times = iter(range(3))

    class Loading(dict[str, Reply]):
        def get(self, path: str, default: Any = None) -> Any:
            return ready.get(path, default) if next(times, None) is None else whole(LOADING, 503)

    server.others = Loading()
    said: list[str] = []
    assert predicted(server.url, said).reply == "Hello"
    assert len([text for text in said if "503: Loading model" in text and "waiting" in text]) == 3
    monkeypatch.setattr("rig.plugins.served.wire.client.LOADING_S", 0.1)
    server.others = dict.fromkeys(ready, whole(LOADING, 503))
    with pytest.raises(RigError, match=r"Loading model.*once it is ready"):
        load(server.url, ServedSettings(), said.append)


@pytest.mark.slow
def test_what_is_probed_is_said_and_takes_no_minutes(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.plugins.served.probes.PROBING_S", 0.5)

    def slow(body: Body) -> Reply:
        time.sleep(0.2 if is_probe(body) else 0)
        return spoken("hm", 7 + 40 * ("tools" in body))

    server = serve(slow, answers_probes=False)
    said: list[str] = []
    began = time.monotonic()
    load(server.url, ServedSettings(), said.append, probing=True).close()
    assert time.monotonic() - began < 1.5
    assert any("probes whether the model sees tools" in text for text in said)
    assert any("--thorough asks all" in text for text in said)
    said.clear()
    load(server.url, ServedSettings(thorough=True), said.append, probing=True).close()
    assert not any("--thorough" in text for text in said)


def test_variables_of_the_template_are_passed_on(serve: Serve) -> None:
    source = "{{ effort }}{{ enable_thinking }}{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}"
    server = serve(
        lambda _body: spoken("Hello"), others={"/props": whole({**PROPS, "chat_template": source})}
    )
    predicted(server.url, template_set="effort=low", thinking="on")
    kwargs = {"enable_thinking": True, "effort": "low"}
    assert [body["chat_template_kwargs"] for body in server.bodies] == [kwargs]
    with pytest.raises(RigError, match="reads no such variable"):
        predicted(server.url, template_set="efort=low")
    others = {
        "/api/show": whole({"capabilities": ["completion", "tools"], "template": source}),
        "/api/version": whole({"version": "0.12.0"}),
    }
    with pytest.raises(RigError, match="ollama passes no variables"):
        predicted(
            serve(lambda _body: spoken("Hello"), others=others).url,
            template_set="effort=low",
            dialect="ollama",
        )
