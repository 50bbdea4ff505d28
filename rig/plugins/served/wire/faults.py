"""What can be wrong with a server's answer, and the reasons that servers give."""

from collections.abc import Mapping
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import Json
from rig.core.errors import ErrorKind

_BUSY = (429, 503)
_TOO_LONG = ("exceed_context_size", "context_length", "context size", "context length", "context window")


class ServerFault(Exception):
    """A request got no usable answer: the kind of fault, the reason in one line, and the status if any.

    `retry_after` is how many seconds the server asks to wait before another try, if it says so.
    """

    def __init__(
        self, kind: ErrorKind, detail: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(" ".join(detail.split())[:400])
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def is_busy(self) -> bool:
        """Whether the server may answer the same request later."""
        return self.status in _BUSY

    @property
    def is_final(self) -> bool:
        """Whether another try is useless: the server refuses the request, or it was retried already."""
        return self.status is not None and (self.status < 500 or self.is_busy)


class Unreachable(ServerFault):
    """No server listens at the address."""


def is_too_long(reason: str) -> bool:
    """Whether a server's reason is that the prompt and the answer do not fit the context."""
    return any(sign in reason.lower() for sign in _TOO_LONG)


def busy_status(code: Json) -> int | None:
    """Return a code in an error if it is the status of a busy server."""
    return code if isinstance(code, int) and code in _BUSY else None


def message_of(body: bytes) -> str:
    """Return the reason from the body of an error, in any of the shapes that servers use."""
    try:
        value: Any = parsed(body)
    except ServerFault:
        return body[:200].decode("utf-8", "replace")
    error = value.get("error", value) if isinstance(value, Mapping) else value
    message = error.get("message", error.get("type")) if isinstance(error, Mapping) else error
    about = (error.get("type"), error.get("code")) if isinstance(error, Mapping) else ()
    kinds = ", ".join(kind for kind in about if isinstance(kind, str) and kind)
    return " ".join(str(part) for part in (message, f"({kinds})" if kinds else "") if part)[:300]


def parsed(body: bytes) -> Json:
    """Return the value of a JSON text. Raises ServerFault."""
    try:
        value: Json = parse_json(body)
        return value
    except (ValueError, RecursionError) as error:
        begin = body[:60].decode("utf-8", "replace")
        raise ServerFault(ErrorKind.MALFORMED, f"not JSON: {begin!a}") from error
