"""Formats of texts, as JSON Schema names them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from uuid import UUID

from rig.core.calls import Json, JsonObject


def misformed(schema: JsonObject, value: Json, name: str = "it") -> Iterator[str]:
    """Yield each text that is not what the `format` of its schema says: only that, not other faults."""
    if isinstance(value, dict):
        for inner, of in schema.get("properties", {}).items():
            if inner in value and isinstance(of, dict):
                yield from misformed(of, value[inner], inner)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for element in value:
            yield from misformed(schema["items"], element, name)
    elif isinstance(value, str) and (form := _FORMATS.get(schema.get("format", ""))) is not None:
        words, read = form
        try:
            read(value)
        except ValueError:
            yield f"{name} is {value!r}, which is not {words}"


def _day(text: str) -> object:
    # `fromisoformat` also reads 20250309 and 2025-W10-7, which JSON Schema's date is not.
    if len(text) != len("2025-03-09") or text[4] != "-":
        raise ValueError("another form")
    return date.fromisoformat(text)


def _address(text: str) -> object:
    user, _, host = text.rpartition("@")
    if not (user and host) or " " in text:
        raise ValueError("no address")
    return user, host


_FORMATS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "date": ("a date as in 2025-03-09", _day),
    "date-time": ("a date and time as in 2025-03-09T14:30:00Z", datetime.fromisoformat),
    "time": ("a time as in 14:30:00", time.fromisoformat),
    "email": ("an e-mail address", _address),
    "uuid": ("a UUID", UUID),
}
"""Formats of JSON Schema: what they are in words, and what reads them or raises ValueError."""
