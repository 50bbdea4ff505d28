"""How JSON values lie in columns: text as TEXT, null as NULL, anything else as a BLOB of JSON.

In a well-formed world every value is text or null and reads as such. ToolTalk's tools check no types, so with
its behaviour a model can store any JSON value; a BLOB keeps those apart from text that looks the same.
"""

import json
from typing import Any, TypeAlias

from rig.calls import Json

Stored: TypeAlias = str | bytes | None


def encode(value: Json) -> Stored:
    """The stored form of a JSON value. Injective: `decode` gives back an equal value of the same type."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            # It has lone surrogates, which JSON can spell and UTF-8 cannot.
            return json.dumps(value).encode()
        return value
    return json.dumps(value).encode()


def decode(stored: Stored) -> Json:
    """The JSON value of a stored form."""
    return json.loads(stored) if isinstance(stored, bytes) else stored


def value_of(stored: Any) -> Json:
    """What a stored value stands for; a tuple of them is a list."""
    return list(map(decode, stored)) if isinstance(stored, tuple) else decode(stored)


def encode_name(name: Json) -> str | bytes:
    """Like `encode`, but null is not NULL, so that a column of names can refuse NULL."""
    stored = encode(name)
    return b"null" if stored is None else stored


def key(name: Json) -> str | bytes:
    """What a name is looked up by: equal for names that are equal as Python dictionary keys (1, 1.0, true).

    Raises TypeError for lists and objects, which cannot be dictionary keys.
    """
    hash(name)
    if isinstance(name, bool) or (isinstance(name, float) and name.is_integer()):
        name = int(name)
    return encode_name(name)
