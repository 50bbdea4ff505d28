"""What strings of a named format look like: enforced by the strict grammar, and checked again afterwards.

A date is a date of the calendar, in leap years too; times have 24 hours; both have all their digits. No
pattern can promise that a day lies in the future, or that an address exists.
"""

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType

_YEAR = (
    "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"  # 0001 to 9999, as Python's datetime has them
)
# Of the Gregorian calendar, from 0004 on.
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = f"(?:{_YEAR}-{_DAY}|{_LEAP_YEAR}-02-29)"
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_OFFSET = "(?:\\.[0-9]{1,9})?(?:Z|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])"  # RFC 3339, section 5.6
_LABEL = "[0-9A-Za-z](?:[0-9A-Za-z\\-]*[0-9A-Za-z])?"
_EMAIL = f"[0-9A-Za-z_\\-]+(?:\\.[0-9A-Za-z_\\-]+)*@{_LABEL}(?:\\.{_LABEL})+"
_HEX = "[0-9A-Fa-f]"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter.lower()}]" for letter in word)


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


NAMED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "x-format": {
            "date": _whole(_DATE),
            "datetime": _whole(f"{_DATE} {_TIME}"),
            "email": _whole(_EMAIL),
            "month": _whole("|".join(map(_in_any_case, _MONTHS))),
            "phone": _whole("[0-9]{3}-[0-9]{3}-[0-9]{4}"),
            "time": _whole(_TIME),
        },
        "format": {
            "date": _whole(_DATE),
            "date-time": _whole(f"{_DATE}T{_TIME}{_OFFSET}"),
            "email": _whole(_EMAIL),
            "time": _whole(f"{_TIME}{_OFFSET}"),
            "uuid": _whole(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"),
        },
    }
)
"""Patterns by keyword and name: the hints of rig's own tools, and JSON Schema's formats."""


def version() -> str:
    """Changes with any of the patterns; part of the fingerprint of arms that they are enforced in."""
    return hashlib.sha256(json.dumps({key: dict(NAMED[key]) for key in NAMED}).encode()).hexdigest()[:16]
