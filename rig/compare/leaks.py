"""Find out whether a model was calibrated on what it is compared on.

An importance matrix that was made from conversations keeps a trace of each, and so does every file that is
quantized with it. A trace is short: a hash of the conversation, and the smallest hashes of its word 5-grams.
These are a random sample that is the same wherever the 5-grams are, so their share in another conversation
estimates how much of the first is in it (Broder, *On the resemblance and containment of documents*, 1997).
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from rig.core.calls import JsonObject, leaves
from rig.core.errors import counted
from rig.core.tasks import Task

SAMPLE = 16
"""Hashes of 5-grams to keep of a conversation. With its own hash they fit into 127 bytes of text."""
NEAR = 0.8
"""With at least this share of them, a conversation counts as a copy of another."""

_FEWEST = 4
"""Conversations with fewer hashes are recognised by their own hash alone."""
_WORDS = 5
_WORD = re.compile(r"\w+")


def trace(source: JsonObject) -> str:
    """Return the trace that is kept of a conversation, as text."""
    return base64.b85encode(_hash(source) + b"".join(sorted(_grams(source))[:SAMPLE])).decode()


def leaked(traces: Iterable[str], conversations: Mapping[str, JsonObject]) -> list[str]:
    """Return the names of conversations that are copies or near copies of traced ones.

    Traces come from a file, so invalid ones are ignored.
    """
    samples = list(_read(traces))
    if not samples:
        return []
    names = []
    for name, source in conversations.items():
        whole, grams = _hash(source), _grams(source)
        if any(own == whole or _is_near(sample, grams) for own, sample in samples):
            names.append(name)
    return names


def leaks_of(fingerprint: Mapping[str, Any] | None, tasks: Iterable[Task]) -> list[str]:
    """Return the names of tasks that an arm's file was calibrated on, according to its fingerprint.

    The tasks are only read if the fingerprint has traces.
    """
    traces = ((fingerprint or {}).get("model.made_from") or {}).get("calibrated_on") or ()
    return leaked(traces, {task.name: task.source for task in tasks}) if traces else []


def leak_text(label: str, names: Sequence[str], what: str) -> str:
    """Return the warning that an arm was calibrated on these conversations; `what`: `that are compared`."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"{label} was calibrated on {counted(len(names), 'conversation')} {what}, or on near copies"
        f" ({', '.join(names[:3])}{more})"
    )


def _is_near(sample: Sequence[bytes], grams: frozenset[bytes]) -> bool:
    return len(sample) >= _FEWEST and sum(gram in grams for gram in sample) >= NEAR * len(sample)


def _read(traces: Iterable[str]) -> Iterator[tuple[bytes, list[bytes]]]:
    for text in traces:
        try:
            data = base64.b85decode(text)
        except ValueError:
            continue
        if len(data) >= 8 and len(data) % 4 == 0:
            yield data[:8], [data[at : at + 4] for at in range(8, len(data), 4)]


def _hash(source: JsonObject) -> bytes:
    return blake2b(json.dumps(source, sort_keys=True).encode(), digest_size=8).digest()


def _grams(source: JsonObject) -> frozenset[bytes]:
    """Return hashes of all runs of five words in a conversation's texts."""
    grams = set()
    for text in leaves(source):
        words = _WORD.findall(text.lower()) if isinstance(text, str) else []
        for at in range(len(words) - _WORDS + 1):
            gram = " ".join(words[at : at + _WORDS])
            grams.add(blake2b(gram.encode(), digest_size=4).digest())
    return frozenset(grams)
