"""What can go wrong: faults that a user can fix, and the kinds of failed generation that are counted."""

from enum import StrEnum


class RigError(Exception):
    """A fault that the user can fix. Its text is one line that says what to do next; the exit code is 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class ErrorKind(StrEnum):
    """Why a step gave no usable prediction, or a turn ended early. Counted as itself, never dropped."""

    TRUNCATED = "truncated"
    """The token budget ran out before the output was complete."""
    INVALID = "invalid"
    """The output does not parse, or does not validate against the step's schema."""
    CONSTRAINT = "constraint"
    """The grammar engine failed; whatever had been generated was discarded as an answer."""
    CONTEXT = "context"
    """The prompt and the token budget do not fit the context."""
    MEMORY = "memory"
    """The device or the host ran out of memory, or no KV cache slot was free."""
    DECODE = "decode"
    """llama.cpp failed to decode a batch."""
    TEMPLATE = "template"
    """The chat template refused the messages."""
    CALL_CAP = "call_cap"
    """The model was still calling tools when the cap on calls per turn was reached."""


MACHINE = frozenset({ErrorKind.CONTEXT, ErrorKind.MEMORY, ErrorKind.DECODE, ErrorKind.TEMPLATE})
"""Failures that say something of the machine and the setup, and nothing of the model."""
