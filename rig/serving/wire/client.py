"""HTTP to one server: no proxies, no redirects, no cookies, and a limit on the size and time of answers."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from time import monotonic, sleep
from typing import Any, NoReturn

import httpx

from rig import opening
from rig.budget import parse_json
from rig.calls import Json, JsonObject
from rig.errors import ErrorKind, RigError
from rig.serving.wire.address import Address

CONNECT_S = 5.0
TOLD_S = 20.0
"""Seconds that a server may take to answer a GET request."""
PAUSES_S = (0.5, 2.0, 5.0)
"""Seconds to wait before each further try if a server is busy or still loading."""
LARGEST = 8 * 2**20
"""The most bytes of an answer that is not generated."""
LONGEST_LINE = 2**20
"""The most bytes of one event of a stream."""
_BUSY = (429, 503)
_TOO_LONG = ("exceed_context_size", "context_length", "context size", "context length", "context window")


class ServerFault(Exception):
    """A request got no usable answer: the kind of fault, the reason in one line, and the status if any."""

    def __init__(self, kind: ErrorKind, detail: str, status: int | None = None) -> None:
        super().__init__(" ".join(detail.split())[:400])
        self.kind = kind
        self.status = status

    @property
    def is_final(self) -> bool:
        """Whether another try is useless: the server refuses the request, or it was retried already."""
        return self.status is not None and (self.status < 500 or self.status in _BUSY)


class Unreachable(ServerFault):
    """No server listens at the address."""


class HttpClient:
    """A client of the server at one address. Several threads can use it at once.

    Raises RigError if the host is not allowed. `timeout_s` is the most that any answer may take.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self._targets = address.targets()
        limits = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(trust_env=False, follow_redirects=False, limits=limits)
        self._sockets: set[socket.socket] = set()

    def stop(self) -> None:
        """End all requests, including those of other threads."""
        _shut(self._sockets)

    def close(self) -> None:
        """End all requests and close the client."""
        self.stop()
        self._http.close()

    def find(self) -> None:
        """Choose the first target that a server listens at. Raises RigError if there is none."""
        for target in self._targets:
            with suppress(OSError):
                socket.create_connection((target, self.address.port), CONNECT_S).close()
                self._targets = (target,)
                return
        raise RigError(
            f"{self.address.origin}: nobody answers there; start the server, or correct the address"
        )

    def get(self, path: str) -> Json:
        """GET a path and return its JSON. Raises ServerFault."""
        return self.post(path, None)

    def post(self, path: str, body: JsonObject | None) -> Json:
        """POST a request (GET without a body) and return the JSON of the answer. Raises ServerFault."""
        with self._answer(path, body, LARGEST) as (_, chunks):
            return _parsed(b"".join(chunks))

    def try_get(self, path: str) -> JsonObject:
        """GET a JSON object; an empty one if there is none. Raises ServerFault if no answer comes in time."""
        try:
            value = self.get(path)
        except ServerFault as fault:
            if fault.kind is ErrorKind.TIMEOUT:
                raise
            return {}
        return value if isinstance(value, dict) else {}

    def ask(self, path: str, body: JsonObject) -> JsonObject:
        """POST a request and return the JSON object of the answer; an empty one if the request fails."""
        with suppress(ServerFault):
            value = self.post(path, body)
            return value if isinstance(value, dict) else {}
        return {}

    def stream(self, path: str, body: JsonObject, most: int) -> Iterator[JsonObject]:
        """Yield the events of a streamed answer, or its one object; at most `most` bytes. Raises ServerFault.

        A busy server is asked again a few times, as long as it has not begun to answer.
        """
        for pause in (*PAUSES_S, None):
            try:
                with self._answer(path, body, most) as (response, chunks):
                    if "text/event-stream" in response.headers.get("content-type", ""):
                        yield from _events(chunks)
                    else:
                        yield _object(b"".join(chunks))
                return
            except ServerFault as fault:
                if fault.status not in _BUSY or pause is None:
                    raise
                sleep(pause)

    @contextmanager
    def _answer(
        self, path: str, body: JsonObject | None, most: int
    ) -> Iterator[tuple[httpx.Response, Iterator[bytes]]]:
        """A context with a successful response and its bytes. Raises ServerFault for any other status."""
        limit = self.timeout_s if body is not None else min(self.timeout_s, TOLD_S)
        until = monotonic() + limit
        sockets: set[socket.socket] = set()

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                sockets.add(info["return_value"].get_extra_info("socket"))
                self._sockets.update(sockets)

        # httpx waits as long as this for each piece of the headers anew.
        timer = Timer(limit, _shut, [sockets])
        timer.daemon = True
        timer.start()
        try:
            with _translated(limit), self._request(path, body, limit, trace) as response:
                timer.cancel()
                chunks = _bounded(response.iter_raw(), most, until)
                if not response.is_success:
                    _refuse(response, b"".join(chunks))
                yield response, chunks
        finally:
            timer.cancel()
            self._sockets.difference_update(sockets)

    def _request(self, path: str, body: JsonObject | None, limit_s: float, trace: Any) -> Any:
        address = self.address
        target = f"[{self._targets[0]}]" if ":" in self._targets[0] else self._targets[0]
        host = address.origin.partition("://")[2].removesuffix(address.path)
        headers = {"Host": host, "Accept-Encoding": "identity", "User-Agent": "rig"}
        if key := opening.key():
            headers["Authorization"] = f"Bearer {key}"
        url = f"{address.scheme}://{target}:{address.port}{address.path}{path}"
        limits = httpx.Timeout(limit_s, connect=CONNECT_S)
        method, content = "GET", None
        if body is not None:
            # As for a file in process, halves of surrogate pairs are replaced: a tool's answer can hold them.
            method, content = "POST", json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            headers["Content-Type"] = "application/json"
        return self._http.stream(
            method, url, content=content, headers=headers, timeout=limits, extensions={"trace": trace}
        )


def _shut(sockets: set[socket.socket]) -> None:
    for open_socket in tuple(sockets):
        with suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def _translated(timeout_s: float) -> Iterator[None]:
    """A context that turns errors of the connection into a ServerFault."""
    until = monotonic() + timeout_s
    try:
        yield
    except httpx.ConnectError as error:
        raise Unreachable(ErrorKind.CONNECTION, f"cannot be reached: {error}") from error
    except httpx.TimeoutException as error:
        raise ServerFault(ErrorKind.TIMEOUT, f"no answer within {timeout_s:g} s") from error
    except (httpx.RemoteProtocolError, httpx.DecodingError, httpx.InvalidURL) as error:
        if monotonic() >= until:
            raise ServerFault(ErrorKind.TIMEOUT, f"no answer within {timeout_s:g} s") from error
        is_lost = "closed" in str(error) or "disconnect" in str(error)
        kind = ErrorKind.CONNECTION if is_lost else ErrorKind.MALFORMED
        raise ServerFault(kind, f"broken HTTP: {error}") from error
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise ServerFault(ErrorKind.CONNECTION, f"the connection was lost: {error}") from error
    except RuntimeError as error:  # httpx raises it if the client was closed meanwhile
        raise ServerFault(ErrorKind.CONNECTION, str(error)) from error


def _bounded(chunks: Iterator[bytes], most: int, until: float) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise ServerFault(ErrorKind.MALFORMED, f"the answer has over {most:,} bytes; given up")
        if monotonic() > until:
            raise ServerFault(ErrorKind.TIMEOUT, "the answer did not end in time (--timeout)")
        yield chunk


def _refuse(response: httpx.Response, body: bytes) -> NoReturn:
    status = response.status_code
    text = message_of(body)
    if response.is_redirect:
        place = response.headers.get("location", "")[:100]
        raise ServerFault(
            ErrorKind.HTTP_STATUS, f"status {status}: redirects are not followed ({place})", status
        )
    if status in (401, 403):
        raise RigError(f"the server wants a key ({status}); --key-from VARIABLE names where it is")
    is_too_long = status in (400, 413) and any(sign in text.lower() for sign in _TOO_LONG)
    kind = ErrorKind.CONTEXT if is_too_long else ErrorKind.HTTP_STATUS
    raise ServerFault(kind, f"status {status}: {text}", status)


def message_of(body: bytes) -> str:
    """Return the reason from the body of an error, in any of the shapes that servers use."""
    try:
        value: Any = _parsed(body)
    except ServerFault:
        return body[:200].decode("utf-8", "replace")
    error = value.get("error", value) if isinstance(value, Mapping) else value
    message = error.get("message", error.get("type")) if isinstance(error, Mapping) else error
    kind = error.get("type") if isinstance(error, Mapping) else None
    return " ".join(str(part) for part in (message, f"({kind})" if kind else "") if part)[:300]


def _parsed(body: bytes) -> Json:
    try:
        value: Json = parse_json(body)
        return value
    except (ValueError, RecursionError) as error:
        begin = body[:60].decode("utf-8", "replace")
        raise ServerFault(ErrorKind.MALFORMED, f"not JSON: {begin!a}") from error


def _object(body: bytes) -> JsonObject:
    value = _parsed(body)
    if not isinstance(value, dict):
        raise ServerFault(ErrorKind.MALFORMED, f"not a JSON object: {body[:60].decode('utf-8', 'replace')!a}")
    if error := value.get("error"):
        message = message_of(json.dumps(error).encode())
        raise ServerFault(ErrorKind.HTTP_STATUS, f"an error in the answer: {message}")
    return value


def _events(chunks: Iterator[bytes]) -> Iterator[JsonObject]:
    """Yield the data of server-sent events as JSON objects, up to `[DONE]` or the end."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if len(rest) > LONGEST_LINE + len(chunk):
            raise ServerFault(ErrorKind.MALFORMED, f"an event has over {LONGEST_LINE:,} bytes")
        if b"\n" not in chunk:
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            name, _, value = line.strip().partition(b":")
            if name == b"data" and value.strip() == b"[DONE]":
                return
            if name in (b"data", b"error") and value.strip():
                yield _object(value if name == b"data" else b'{"error": ' + value + b"}")
