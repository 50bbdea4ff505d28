"""The formats of arguments: how a schema names them, and how a tool reads them.

`x-format` in a schema says what a string has to look like, so that a grammar can hold a model to it.
"""

import re
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import Field

from rig.toolbox.errors import ToolError, shown

TIME = "%H:%M:%S"
INSTANT = "%Y-%m-%d %H:%M:%S"

Time: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "time"})]
"""HH:MM:SS, 24-hour."""
Instant: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "datetime"})]
"""YYYY-MM-DD HH:MM:SS, 24-hour."""
Email: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "email"})]
"""name@host."""
Phone: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "phone"})]
"""555-555-5555."""
Month: TypeAlias = Annotated[str, Field(json_schema_extra={"x-format": "month"})]
"""A month's full English name, in any case."""


def read_time(text: str, name: str) -> datetime:
    """A time of day. Raises ToolError when the argument `name` is none."""
    return _read(text, name, TIME, "HH:MM:SS (24-hour), such as 18:30:00")


def read_instant(text: str, name: str) -> datetime:
    """A date and time. Raises ToolError when the argument `name` is none."""
    return _read(text, name, INSTANT, "YYYY-MM-DD HH:MM:SS (24-hour), such as 2024-03-05 18:30:00")


def is_email(text: str) -> bool:
    """Whether ToolTalk takes it for an address: no more than something on both sides of one @."""
    return re.match(r"^[\w.-]+@[\w.-]+$", text) is not None


def is_phone(text: str) -> bool:
    """Whether it has the form 555-555-5555."""
    return re.match(r"^\d{3}-\d{3}-\d{4}$", text) is not None


def _read(text: str, name: str, pattern: str, form: str) -> datetime:
    try:
        return datetime.strptime(text, pattern)  # noqa: DTZ007 - the dataset has no zones
    except ValueError as error:
        raise ToolError(f"{name} must have the form {form}; got '{shown(text)}'.", str(error)) from error
