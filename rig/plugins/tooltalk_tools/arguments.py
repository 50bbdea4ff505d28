"""Arguments of ToolTalk's tools: what their texts must look like, and how they are read."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import Field

from rig.core import times
from rig.world.spec import ToolError, quoted

Time: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "time"})]
"""HH:MM:SS, 24-hour."""
Instant: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "datetime"})]
"""YYYY-MM-DD HH:MM:SS, 24-hour."""
EmailAddress: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "email"})]
"""name@host."""
Phone: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "phone"})]
"""555-555-5555."""
Month: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "month"})]
"""A month's full English name, in any case."""


def _read(form: times.DateTimeFormat, text: str, name: str) -> datetime:
    try:
        return times.read(text, form.pattern)
    except ValueError as error:
        expected = f"{form.words} (24-hour), such as {form.example}"
        raise ToolError(f"{name} must have the form {expected}; got '{quoted(text)}'.", str(error)) from error


read_time = partial(_read, times.FORMS["time"])
"""Read a time of day. Raises ToolError if the argument `name` is not one."""
read_instant = partial(_read, times.FORMS["datetime"])
"""Read a date and time. Raises ToolError if the argument `name` is not one."""


def read_range(read: Callable[[str, str], datetime], **ends: str | None) -> Sequence[datetime | None]:
    """Read the first and last value of a range by their arguments' names; None for one that is not given.

    Raises ToolError when one cannot be read, or they are in the wrong order.
    """
    first, last = (None if text is None else read(text, name) for name, text in ends.items())
    if first is not None and last is not None and first > last:
        raise ToolError(" must not be later than ".join(ends) + ".")
    return first, last


def is_email(text: str) -> bool:
    """Return whether ToolTalk accepts a text as an address: word characters, dots or dashes around one @."""
    return re.match(r"^[\w.-]+@[\w.-]+$", text) is not None


def is_phone(text: str) -> bool:
    """Return whether a text has the form 555-555-5555."""
    return re.match(r"^\d{3}-\d{3}-\d{4}$", text) is not None
