"""HTTP to one server: no proxies, no redirects, no cookies, and a limit on the size and time of answers."""

import json
import math
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Timer
from time import monotonic, sleep
from typing import Any, NamedTuple, NoReturn

import httpx

from rig.core import opening
from rig.core.calls import Json, JsonObject
from rig.core.errors import ErrorKind, RigError
from rig.plugins.served.wire.address import Address
from rig.plugins.served.wire.events import END as END
from rig.plugins.served.wire.events import events, is_last
from rig.plugins.served.wire.faults import ServerFault as ServerFault
from rig.plugins.served.wire.faults import Unreachable as Unreachable
from rig.plugins.served.wire.faults import is_too_long, message_of, parsed

CONNECT_S = 5.0
TOLD_S = 20.0
"""Seconds that a server may take to answer a GET request."""
PAUSES_S = (0.5, 2.0, 5.0)
"""Seconds to wait before each further try if a server is busy."""
LOADING_S = 60.0
"""The most seconds to wait for a server that loads its model, or that says how long to wait."""
GRACE_S = 5.0
"""Seconds after the end of an answer in which its usage and `[DONE]` may come; some servers never close."""
LARGEST = 8 * 2**20
"""The most bytes of an answer that is not generated."""
_LOADING = ("loading", "starting", "warming")


def _silent(_: str) -> None:
    pass


class _Patience:
    """The waits for a server that is busy, each said with `tell`. They end after `LOADING_S` in all."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._pauses, self._until = tell, iter(PAUSES_S), monotonic() + LOADING_S

    def wait(self, fault: ServerFault) -> None:
        """Wait until the next try. Raises the fault if there should be none."""
        if not fault.is_busy:
            raise fault
        is_loading = any(sign in str(fault).lower() for sign in _LOADING)
        pause = next(self._pauses, PAUSES_S[-1] if is_loading or fault.retry_after is not None else None)
        if fault.retry_after is not None:
            pause = max(fault.retry_after, PAUSES_S[0])
        if pause is None or monotonic() + pause > self._until:
            raise fault
        self._tell(f"{fault}; waiting {pause:g} s")
        sleep(pause)


class HttpClient:
    """A client of the server at one address. Several threads can use it at once.

    Raises RigError if the host is not allowed. `timeout_s` is the most that any answer may take, and no
    answer is waited for beyond the `deadline`, if there is one. Waits for a busy server are said with `tell`.
    """

    def __init__(self, address: Address, timeout_s: float, tell: Callable[[str], None] = _silent) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.deadline = math.inf
        self.tell = tell
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
        """GET a path and return its JSON, from a busy server after a while. Raises ServerFault."""
        patience = _Patience(self.tell)
        while True:
            try:
                return self.post(path, None)
            except ServerFault as fault:
                patience.wait(fault)

    def post(self, path: str, body: JsonObject | None) -> Json:
        """POST a request (GET without a body) and return the JSON of the answer. Raises ServerFault."""
        with self._answer(path, body, LARGEST) as reply:
            return parsed(b"".join(reply.chunks))

    def try_get(self, path: str) -> JsonObject:
        """GET a JSON object; an empty one if there is none. Raises ServerFault if no answer comes in time."""
        try:
            value = self.get(path)
        except ServerFault as fault:
            if fault.kind is ErrorKind.TIMEOUT or fault.is_busy:
                raise
            return {}
        return value if isinstance(value, dict) else {}

    def ask(self, path: str, body: JsonObject) -> JsonObject:
        """POST a request and return the JSON object of the answer; an empty one if the request fails."""
        with suppress(ServerFault):
            value = self.post(path, body)
            return value if isinstance(value, dict) else {}
        return {}

    def stream(
        self, path: str, body: JsonObject, most: int, tell: Callable[[str], None] | None = None
    ) -> Iterator[JsonObject]:
        """Yield the events of a streamed answer, or its one object, and `END` if the server says it is over.

        At most `most` bytes are read. A busy server is asked again, as long as it has not begun to answer;
        each wait is said with `tell`. Raises ServerFault.
        """
        patience, has_begun = _Patience(tell or self.tell), False
        while True:
            try:
                with self._answer(path, body, most) as reply:
                    for event in events(reply.kind, reply.chunks):
                        has_begun = True
                        if is_last(event):
                            reply.end_after(GRACE_S)
                        yield event
                return
            except ServerFault as fault:
                if has_begun:
                    raise
                patience.wait(fault)

    @contextmanager
    def _answer(self, path: str, body: JsonObject | None, most: int) -> Iterator["_Reply"]:
        """A context with a successful response. Raises ServerFault for any other status."""
        limit = self.timeout_s if body is not None else min(self.timeout_s, TOLD_S)
        limit = max(min(limit, self.deadline - monotonic()), 0.001)
        until = monotonic() + limit
        sockets: set[socket.socket] = set()

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                sockets.add(info["return_value"].get_extra_info("socket"))
                self._sockets.update(sockets)

        # httpx waits as long as this for each piece of the headers anew.
        timer = _timer(limit, sockets)
        reply: _Reply | None = None
        try:
            with _translated(limit, until), self._request(path, body, limit, trace) as response:
                timer.cancel()
                chunks = _bounded(response.iter_raw(), most, until)
                if not response.is_success:
                    _refuse(response, b"".join(chunks))
                coding = response.headers.get("content-encoding", "identity")
                if coding.lower() != "identity":
                    raise ServerFault(
                        ErrorKind.MALFORMED, f"the answer is compressed ({coding}), which was not asked for"
                    )
                reply = _Reply(response.headers.get("content-type", ""), chunks, sockets, [])
                yield reply
        finally:
            for pending in (timer, *(reply.timers if reply else ())):
                pending.cancel()
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


class _Reply(NamedTuple):
    """The type and the bytes of a response, its connections, and the timers that would close them."""

    kind: str
    chunks: Iterator[bytes]
    sockets: set[socket.socket]
    timers: list[Timer]

    def end_after(self, seconds: float) -> None:
        """Close the connection if it is still open after some seconds."""
        if not self.timers:
            self.timers.append(_timer(seconds, self.sockets))


def _timer(seconds: float, sockets: set[socket.socket]) -> Timer:
    timer = Timer(seconds, _shut, [sockets])
    timer.daemon = True
    timer.start()
    return timer


def _shut(sockets: set[socket.socket]) -> None:
    for open_socket in tuple(sockets):
        with suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def _translated(timeout_s: float, until: float) -> Iterator[None]:
    """A context that turns errors of the connection into a ServerFault.

    From the moment `until`, the timer may have closed the connection.
    """
    try:
        yield
    except httpx.ConnectError as error:
        raise Unreachable(ErrorKind.CONNECTION, f"cannot be reached: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        if isinstance(error, httpx.TimeoutException) or monotonic() >= until:
            raise ServerFault(ErrorKind.TIMEOUT, f"no answer within {timeout_s:g} s") from error
        if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError | httpx.InvalidURL):
            is_lost = "closed" in str(error) or "disconnect" in str(error)
            kind = ErrorKind.CONNECTION if is_lost else ErrorKind.MALFORMED
            raise ServerFault(kind, f"broken HTTP: {error}") from error
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
    is_context = status in (400, 413) and is_too_long(text)
    kind = ErrorKind.CONTEXT if is_context else ErrorKind.HTTP_STATUS
    retry_after = _seconds(response.headers.get("retry-after"))
    wish = f"; it asks to wait {retry_after:g} s" if retry_after and retry_after > LOADING_S else ""
    raise ServerFault(kind, f"status {status}: {text}{wish}", status, retry_after)


def _seconds(text: str | None) -> float | None:
    """Return the seconds of a `Retry-After`, which are a number or a date; None if it is neither."""
    if text is None:
        return None
    with suppress(ValueError, OverflowError):
        seconds = float(text)
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    with suppress(ValueError, OverflowError, TypeError):
        date = parsedate_to_datetime(text)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(round((date - datetime.now(UTC)).total_seconds(), 1), 0.0)
    return None
