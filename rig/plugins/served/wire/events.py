"""The events of a streamed answer, as servers send them: in server-sent events, or in JSON line by line."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from rig.core.calls import JsonObject
from rig.core.errors import ErrorKind
from rig.plugins.served.wire.faults import ServerFault, busy_status, is_too_long, message_of, parsed

LONGEST_LINE = 2**20
"""The most bytes of one event of a stream."""
END: JsonObject = {"end": True}
"""What a stream yields where the server says that nothing follows; no server can send this very object."""
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_PING = re.compile(rb"(?i)\W{0,9}(?:ping|pong|heartbeat|keep[ -]?alive)")


def events(kind: str, chunks: Iterator[bytes]) -> Iterator[JsonObject]:
    """Yield the JSON objects of an answer with this content type, and `END` where the server says it is over.

    Some servers send a stream as another type, or one object as a stream: what it is shows in how it begins.
    Comments and pings are overlooked. Raises ServerFault for anything else that is no JSON object.
    """
    if "event-stream" not in kind.lower() and "ndjson" not in kind.lower():
        body = b"".join(chunks).removeprefix(_BOM).lstrip()
        first, *more = body.splitlines()[:2] or [b""]
        if not body.startswith(_FIELDS) and not (more and _is_json(first)):
            yield from _whole(body)
            yield END
            return
        chunks = iter([body])
    event, data = b"", b""
    for line in _lines(chunks):
        name, _, value = (b"data", b":", line) if line.startswith(b"{") else line.partition(b":")
        value = value.strip()
        if name == b"data":
            if not data and value.strip(b'"').upper() == b"[DONE]":
                yield END
                return
            # Some servers put no empty line after an event; what ends as JSON on its first line is whole.
            if not data and _is_json(value):
                if value != b"null":
                    yield object_of(value, event)
            else:
                data = b"\n".join(filter(None, (data, value)))
                _check_length(len(data))
        elif name == b"error" and value:  # as llama.cpp sent it until 2025
            object_of(value, b"error")
        elif name == b"event":
            event = value
        elif not line:
            if data and event in (b"", b"message", b"error") and not _PING.match(data):
                yield object_of(data, event)
            event, data = b"", b""


def _whole(body: bytes) -> Iterator[JsonObject]:
    """Yield the object that an answer is, or all of a list of events."""
    if body.startswith(b"[") and _is_json(body) and isinstance(value := parsed(body), list):
        yield from (object_of(json.dumps(part).encode()) for part in value)
    else:
        yield object_of(body)


def object_of(body: bytes, event: bytes = b"") -> JsonObject:
    """Return the JSON object of an event of a type. Raises ServerFault if it is none, or says an error."""
    value = None if event == b"error" else parsed(body)
    error = value.get("error") if isinstance(value, dict) else None
    if event == b"error" or error or (isinstance(value, dict) and value.get("object") == "error"):
        message = message_of(body)
        code = error.get("code") if isinstance(error, dict) else None
        kind = ErrorKind.CONTEXT if is_too_long(message) else ErrorKind.HTTP_STATUS
        raise ServerFault(kind, f"an error in the answer: {message}", busy_status(code))
    if not isinstance(value, dict):
        raise ServerFault(ErrorKind.MALFORMED, f"not a JSON object: {body[:60].decode('utf-8', 'replace')!a}")
    return value


def is_last(event: JsonObject) -> bool:
    """Whether an event says why the answer has ended."""
    choices = event.get("choices")
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and choice.get("finish_reason") for choice in choices
    )


def _is_json(data: bytes) -> bool:
    with suppress(ServerFault):
        parsed(data)
        return True
    return False


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream without their ends. A last line without an end counts if it is JSON."""
    rest, begin = bytearray(), _BOM
    for chunk in chunks:
        rest += chunk
        _check_length(len(rest) - len(chunk))
        if b"\n" not in chunk and b"\r" not in chunk:
            continue
        text, begin = bytes(rest).removeprefix(begin), b""
        # A carriage return at the end of a chunk can be the first half of a line's end.
        whole = text.removesuffix(b"\r")
        *lines, last = _LINE_END.split(whole)
        rest = bytearray(last + text[len(whole) :])
        yield from (line.strip() for line in lines)
    last = bytes(rest).removeprefix(begin).strip()
    if last.startswith(b"{") or _is_json(last.removeprefix(b"data:")) or b"[DONE]" in last:
        yield last


def _check_length(length: int) -> None:
    if length > LONGEST_LINE:
        raise ServerFault(ErrorKind.MALFORMED, f"an event has over {LONGEST_LINE:,} bytes")
