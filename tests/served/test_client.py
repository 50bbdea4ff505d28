"""HTTP that is bounded, goes to one place, and takes nobody's word for anything."""

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from fake_servers import FakeServer, Reply, chunk, events, spoken, whole

from rig.core import opening
from rig.core.errors import ErrorKind, RigError
from rig.plugins.served.wire import client as client_module
from rig.plugins.served.wire.address import Address
from rig.plugins.served.wire.client import HttpClient, ServerFault

Serve = Callable[..., FakeServer]
SSE = {"Content-Type": "text/event-stream"}
CHAT = "/v1/chat/completions"


def faulted(server: FakeServer, timeout_s: float = 5.0, most: int = 100_000) -> ServerFault:
    client = HttpClient(Address.parse(server.url), timeout_s)
    with pytest.raises(ServerFault) as fault:
        list(client.stream(CHAT, {}, most))
    client.close()
    return fault.value


def endless(piece: bytes) -> Iterator[bytes]:
    return itertools.repeat(piece)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (lambda: Reply(endless(b"x" * 65536)), ErrorKind.MALFORMED, "over 100,000 bytes"),
        (lambda: Reply(endless(b"data: {}\n\n"), headers=SSE), ErrorKind.MALFORMED, "over 100,000 bytes"),
        (
            lambda: Reply([b"<html>Sign in</html>"], headers={"Content-Type": "text/html"}),
            ErrorKind.MALFORMED,
            "not JSON",
        ),
        (lambda: Reply([b"data: {\n\n"], headers=SSE), ErrorKind.MALFORMED, "not JSON"),
        (lambda: Reply([b"data: [1]\n\n"], headers=SSE), ErrorKind.MALFORMED, "not a JSON object"),
        (lambda: Reply([b"[" * 90_000]), ErrorKind.MALFORMED, "not JSON"),
        (
            lambda: events({"error": {"message": "slot gone", "type": "server_error"}}),
            ErrorKind.HTTP_STATUS,
            "slot gone",
        ),
        (
            lambda: Reply([b'error: {"message": "old style"}\n\n'], headers=SSE),
            ErrorKind.HTTP_STATUS,
            "old style",
        ),
        (
            lambda: Reply(status=307, headers={"Location": "http://10.1.2.3/"}),
            ErrorKind.HTTP_STATUS,
            "redirects are not followed",
        ),
        (lambda: whole({"error": {"message": "boom"}}, 500), ErrorKind.HTTP_STATUS, "status 500: boom"),
        (
            lambda: whole({"error": {"message": "too long", "type": "exceed_context_size_error"}}, 400),
            ErrorKind.CONTEXT,
            "too long",
        ),
        (
            lambda: Reply([b"data: {}\n\n"], headers={**SSE, "Content-Length": "999"}),
            ErrorKind.CONNECTION,
            "closed",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_fault_has_its_kind(
    serve: Serve, reply: Callable[[], Reply], kind: ErrorKind, words: str
) -> None:
    server = serve(lambda _body: reply())
    fault = faulted(server)
    assert fault.kind is kind
    assert words in str(fault)
    assert "\n" not in str(fault)
    assert len(str(fault)) <= 400


def test_a_server_that_never_ends_is_given_up_in_time(serve: Serve) -> None:
    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.05)
            yield b": still here\n\n"

    began = time.monotonic()
    fault = faulted(serve(lambda _body: Reply(drip(), headers=SSE)), timeout_s=0.4)
    assert (fault.kind, time.monotonic() - began < 3) == (ErrorKind.TIMEOUT, True)


def test_a_server_that_says_nothing_is_given_up_in_time(serve: Serve) -> None:
    def silent() -> Iterator[bytes]:
        time.sleep(2)
        yield b""

    began = time.monotonic()
    fault = faulted(serve(lambda _body: Reply(silent(), headers=SSE)), timeout_s=0.3)
    assert (fault.kind, time.monotonic() - began < 1.5) == (ErrorKind.TIMEOUT, True)


@pytest.mark.slow
def test_a_busy_server_is_asked_again(serve: Serve) -> None:
    replies = iter([whole({"error": {"message": "Loading model"}}, 503), spoken("Hello")])
    server = serve(lambda _body: next(replies))
    client = HttpClient(Address.parse(server.url), 5.0)
    assert len(list(client.stream(CHAT, {}, 10_000))) == 5
    assert len(server.bodies) == 2


def test_nothing_of_the_environment_leads_elsewhere(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, connections: list[tuple[str, int]]
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://10.9.9.9:3128")
    server = serve(lambda _body: spoken("Hello"))
    client = HttpClient(Address.parse(server.url), 5.0)
    client.find()
    list(client.stream(CHAT, {}, 10_000))
    assert set(connections) == {("127.0.0.1", int(server.url.rpartition(":")[2]))}
    assert "Authorization" not in server.headers[-1]


def test_the_key_comes_from_the_variable_that_was_named(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    server = serve(lambda _body: whole({"error": "no"}, 401))
    client = HttpClient(Address.parse(server.url), 5.0)
    with pytest.raises(RigError, match="--key-from") as refusal:
        list(client.stream(CHAT, {}, 10_000))
    opening.use_key("MY_KEY")
    try:
        with pytest.raises(RigError) as again:
            list(client.stream(CHAT, {}, 10_000))
    finally:
        opening.forget()
    assert [headers.get("Authorization") for headers in server.headers] == [None, "Bearer s3cret"]
    assert "s3cret" not in f"{refusal.value}{again.value}"
    with pytest.raises(RigError, match="no such environment variable"):
        opening.use_key("NO_SUCH_KEY")


def test_events_may_be_cut_anywhere(serve: Serve) -> None:
    data = b"".join(piece for piece in events(chunk(content="é😀"), chunk("stop")).content if piece)
    server = serve(lambda _body: Reply([data[n : n + 1] for n in range(len(data))], headers=SSE))
    client = HttpClient(Address.parse(server.url), 5.0)
    got = list(client.stream(CHAT, {}, 10_000))
    assert got[0]["choices"][0]["delta"]["content"] == "é😀"
    assert len(got) == 3


def test_nobody_there_is_one_line(connections: list[tuple[str, int]]) -> None:
    client = HttpClient(Address.parse("http://127.0.0.1:9"), 5.0)
    with pytest.raises(RigError, match="start the server"):
        client.find()


def test_text_that_is_no_unicode_is_sent_as_a_file_in_process_reads_it(serve: Serve) -> None:
    server = serve(lambda _body: whole({}))
    said = {"messages": [{"role": "user", "content": "é\ud800"}]}
    HttpClient(Address.parse(server.url), 5.0).post(CHAT, said)
    assert server.bodies == [{"messages": [{"role": "user", "content": "é?"}]}]


@pytest.mark.parametrize("busy_s", [0.0, 0.2])
def test_headers_that_never_end_are_given_up_in_time(
    connections: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, busy_s: float
) -> None:
    timer = client_module._timer

    def slowly(*arguments: Any) -> Any:
        """The timer on a machine that does something else as soon as it has started."""
        started = timer(*arguments)
        time.sleep(busy_s)
        return started

    monkeypatch.setattr(client_module, "_timer", slowly)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                for _ in range(60):
                    connection.sendall(b"x")
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        client = HttpClient(Address.parse(f"http://127.0.0.1:{listening.getsockname()[1]}"), 0.3)
        began = time.monotonic()
        with pytest.raises(ServerFault, match=r"no answer within 0.3 s") as fault:
            client.post(CHAT, {})
        assert (fault.value.kind, time.monotonic() - began < 2) == (ErrorKind.TIMEOUT, True)
