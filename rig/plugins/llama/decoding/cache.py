"""The KV cache as a tree of prompt segments: what prompts share is computed once, what differs branches off.

Every sequence holds one path of the tree, from the root on; sequences whose paths begin alike share the cells
of their common part. Across turns only whole segments are reused, and each is prefilled in batches that begin
at its own start, so with one sequence what a cache hit finds and what a miss computes went through identical
batches and hold the same bits. Within a turn, generated tokens are kept too, though they were decoded in
other batches than a prefill would use: a turn is always played from its start, so it meets the same bits.

The memory of recurrent and hybrid models cannot be cut. There a sequence is copied where a segment ends, and
to go back to that end is to copy it again. Copies are kept of the ends that sequences have passed, so they
take no cells of their own, and the cells of a sequence lie where they would without copies.

On disk the state of the prompt's shared beginning is kept for the next start. A file is found by everything
that shaped its bits: the model file, the tokens, the context's settings and llama.cpp's build. It is checked
before it is used; if it fails the check, the state is computed again. What took longer to read
than to compute, as on a fast GPU, is not kept.
"""

import hashlib
import json
import struct
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.core.calls import Json
from rig.core.models import Notify
from rig.plugins.llama.core.llama import Chunk, LlamaContext
from rig.plugins.llama.core.tokenizer import Segment
from rig.plugins.llama.files.caches import Damaged, DiskCache

_SECONDS = struct.Struct("<d")
"""How long a state took to compute; its file begins with it, and has nothing else if reading took longer."""
WORTH_TOKENS = 256
"""Beginnings shorter than this are computed about as fast as they are read."""


class PrefixStore:
    """A directory of KV states. The least recently used ones are removed when it grows beyond `max_bytes`.

    `shape` is everything besides the tokens that can change a bit of the state. `notify` gets one line about
    anything a person should know: a damaged file, or a directory that cannot be written.
    """

    def __init__(
        self, directory: Path, shape: Mapping[str, Json], notify: Notify, max_bytes: int = 2 << 30
    ) -> None:
        self._directory = directory
        self._shape = json.dumps(shape, sort_keys=True).encode()
        self._notify = notify
        self._cache = DiskCache(directory, "kv", max_bytes)
        self._is_silent = False
        self._slower = set[str]()

    def load(self, context: LlamaContext, sequence: int, tokens: Segment) -> bool:
        """Make a sequence hold exactly these tokens; return whether their state was stored and sound.

        If that takes longer than computing them did, their state is not kept any more.
        """
        key = self._key(tokens)
        path = self._cache.path(key)
        try:
            begun = perf_counter()
            content = self._cache.load(key)
            if content is None:
                return False
            took, state = content[: _SECONDS.size], content[_SECONDS.size :]
            if not state:
                self._slower.add(key)
                return False
            if not context.restore(sequence, tokens, state):
                self._cache.drop(key)
                raise Damaged(f"{path}: damaged")
            if perf_counter() - begun > _SECONDS.unpack(took)[0]:
                self._slower.add(key)
                self._cache.save(key, took)
            return True
        except OSError as error:
            self._say(f"{path}: cannot be read ({error.strerror}); the prompt is computed again")
        except Damaged as error:
            self._notify(f"{error}; the prompt is computed again")
        return False

    def save(self, context: LlamaContext, sequence: int, took_s: float) -> None:
        """Keep the state of a sequence, which took that long to compute, unless it is too short or too large.

        What was slower to read than to compute is not kept again.
        """
        tokens = tuple(context.sequences[sequence])
        key = self._key(tokens)
        if len(tokens) < WORTH_TOKENS or key in self._slower:
            return
        try:
            self._cache.save(key, _SECONDS.pack(took_s) + context.state(sequence))
        except OSError as error:
            self._say(f"{self._directory}: the prompt's state is not kept: {error.strerror or error}")

    def _key(self, tokens: Segment) -> str:
        return hashlib.sha256(self._shape + struct.pack(f"<{len(tokens)}i", *tokens)).hexdigest()

    def _say(self, text: str) -> None:
        """Notify once only, as the fault will not change within a run."""
        if not self._is_silent:
            self._is_silent = True
            self._notify(text)


Logits: TypeAlias = npt.NDArray[np.float32]


class Feed(NamedTuple):
    """Tokens that a step wants decoded next, after what its sequence holds.

    With `logits`, the step receives those after the last of them. `generated` tokens belong to an answer,
    others to a prompt.
    """

    tokens: Sequence[int]
    logits: bool
    generated: bool = False


Feeding: TypeAlias = Generator[Feed, Logits | None, None]


@dataclass(slots=True)
class _Path:
    """The segments that a sequence holds. The first `lasting` of them consist of prefilled tokens only."""

    segments: list[Segment] = field(default_factory=list)
    lasting: int = 0
    coming: list[Segment] = field(default_factory=list)

    @property
    def lasting_length(self) -> int:
        return sum(map(len, self.segments[: self.lasting]))


class PrefixTree:
    """Keeps the sequences of a context at the longest prefixes that prompts share."""

    def __init__(self, context: LlamaContext, store: PrefixStore | None = None) -> None:
        self._context = context
        self._store = store
        self._paths = [_Path() for _ in context.sequences]
        self._copies: dict[tuple[Segment, ...], int] = {}
        """The numbers of copies by the segments that they hold; the one that was used last comes last."""

    def grow(self, segments: Sequence[Segment]) -> Feeding:
        """Bring the first sequence to these segments, with which coming prompts begin."""
        self.begin(0)
        cached = self._keep_common(0, segments)
        self._drop_passed()
        yield from self._lasting_segments(0, segments, cached)

    def begin(self, sequence: int) -> None:
        """Begin a turn: drop what generation left in the cache."""
        path = self._paths[sequence]
        self._drop(sequence, path.lasting, path.lasting_length)

    def prefill(
        self, sequence: int, segments: Sequence[Segment]
    ) -> Generator[Feed, Logits | None, tuple[int, Logits]]:
        """Bring a sequence to the end of a prompt; yield the tokens to decode.

        Returns how many of its tokens were in the cache already, and the last logits. The last segment is
        always computed, because its logits are needed. The generator may be abandoned at any yield; the cache
        stays consistent.
        """
        path = self._paths[sequence]
        cached = self._keep_common(sequence, segments[:-1])
        self._drop_passed()
        if cached == path.lasting_length:
            # Nothing generated is in the way: prefill by segments, so that they are found again.
            cached = yield from self._lasting_segments(sequence, segments[:-1], cached)
        rest = [token for segment in segments for token in segment][len(self._context.sequences[sequence]) :]
        logits = yield Feed(rest, logits=True)
        assert logits is not None
        path.segments = list(segments[:-1])
        return cached, logits

    def _lasting_segments(
        self, sequence: int, segments: Sequence[Segment], cached: int
    ) -> Generator[Feed, Logits | None, int]:
        """Find or compute the missing segments; return how many tokens were found, `cached` included."""
        path = self._paths[sequence]
        path.coming = list(segments)
        try:
            while path.lasting < len(segments):
                segment = segments[path.lasting]
                if restored := self._adopt(sequence, segments) or self._restore(sequence, segment):
                    cached += restored
                elif self._is_on_its_way(sequence, segments):
                    yield Feed((), logits=False)
                else:
                    begun = perf_counter()
                    yield Feed(segment, logits=False)
                    path.segments.append(segment)
                    path.lasting += 1
                    if path.lasting == 1 and self._store and self._context.has_state(sequence):
                        self._store.save(self._context, sequence, perf_counter() - begun)
                    self._copy(sequence)
        finally:
            path.coming = []
        return cached

    def _adopt(self, sequence: int, segments: Sequence[Segment]) -> int:
        """Branch off the sequence with most of these segments, if it has more; return the tokens gained."""
        path = self._paths[sequence]
        if not self._context.can_branch:
            before = path.lasting_length
            return self._return_to(sequence, segments, path.lasting + 1) - before
        shared = [common(other.segments[: other.lasting], segments) for other in self._paths]
        donor = max(range(len(shared)), key=shared.__getitem__)
        if shared[donor] <= path.lasting:
            return 0
        before = path.lasting_length
        path.segments, path.lasting = list(segments[: shared[donor]]), shared[donor]
        self._context.share(donor, sequence, path.lasting_length)
        return path.lasting_length - before

    def _is_on_its_way(self, sequence: int, segments: Sequence[Segment]) -> bool:
        """Return whether a sequence with a lower number is computing the segment that is missing here."""
        length = self._paths[sequence].lasting + 1
        return any(
            other.coming[:length] == list(segments[:length]) and other.lasting == length - 1
            for other in self._paths[:sequence]
        )

    def _restore(self, sequence: int, segment: Segment) -> int:
        """Restore a prompt's first segment from disk, if it is there; return how many tokens."""
        path = self._paths[sequence]
        if path.lasting or self._store is None or not self._context.has_state(sequence):
            return 0
        if not self._store.load(self._context, sequence, segment):
            return 0
        path.segments, path.lasting = [segment], 1
        self._copy(sequence)
        return len(segment)

    def _copy(self, sequence: int) -> None:
        """Copy a sequence at the end of its lasting segments, if its memory cannot be cut.

        If all copies are taken, the one without which the fewest tokens would have to be computed again goes,
        and of several the one that was used least recently.
        """
        if self._context.can_branch:
            return
        segments = tuple(self._paths[sequence].segments)
        number = self._copies.pop(segments, None)
        if number is None:
            free = set(range(len(self._context.copies))) - set(self._copies.values())
            number = min(free) if free else self._copies.pop(min(self._copies, key=self._worth))
            self._context.copy(sequence, number)
        self._copies[segments] = number

    def _worth(self, held: tuple[Segment, ...]) -> int:
        """Return how many tokens a copy has more than the longest other copy that it continues."""
        shorter = next((end for end in reversed(range(len(held))) if held[:end] in self._copies), 0)
        return sum(map(len, held[shorter:]))

    def _return_to(self, sequence: int, segments: Sequence[Segment], least: int) -> int:
        """Return to the longest beginning of these segments of which there is a copy.

        It has at least that many of them. Returns the number of tokens that last in the sequence.
        """
        path = self._paths[sequence]
        held = [tuple(segments[:count]) for count in range(least, len(segments) + 1)]
        best = next((beginning for beginning in reversed(held) if beginning in self._copies), None)
        if best is not None:
            self._copies[best] = self._copies.pop(best)
            self._context.return_to(self._copies[best], sequence)
            path.segments, path.lasting = list(best), len(best)
        return path.lasting_length

    def _drop_passed(self) -> None:
        """Drop the copies of what no sequence has passed: they would keep cells from being free."""
        passed = {
            tuple(path.segments[:count]) for path in self._paths for count in range(1, path.lasting + 1)
        }
        for segments in self._copies.keys() - passed:
            self._context.drop_copy(self._copies.pop(segments))

    def _keep_common(self, sequence: int, segments: Sequence[Segment]) -> int:
        """Drop all tokens except those that these segments begin with; return how many are kept."""
        path = self._paths[sequence]
        kept = common(path.segments, segments)
        length = sum(map(len, segments[:kept]))
        if kept == len(path.segments) and kept < len(segments):
            length += common(self._context.sequences[sequence][length:], segments[kept])
        return self._drop(sequence, kept, length)

    def _drop(self, sequence: int, segments: int, tokens: int) -> int:
        """Keep this many segments and tokens, or fewer if the memory cannot be cut. Returns what is left."""
        path = self._paths[sequence]
        is_cut = tokens < len(self._context.sequences[sequence])
        if is_cut and not self._context.can_branch:
            self._context.drop_tail(sequence, 0)
            beginning, path.segments, path.lasting = path.segments[: min(segments, path.lasting)], [], 0
            return self._return_to(sequence, beginning, 1)
        left = self._context.drop_tail(sequence, tokens)
        kept = segments if left == tokens else 0
        del path.segments[kept:]
        path.lasting = min(path.lasting, kept)
        return left


def read_prompt(context: LlamaContext, slot: int, prompt: Sequence[int]) -> int:
    """Bring a sequence to the end of a prompt and compute its last token; return how many were computed."""
    start = context.drop_tail(slot, min(common(context.sequences[slot], prompt), len(prompt) - 1))
    for at in range(start, len(prompt), context.n_batch):
        piece = prompt[at : at + context.n_batch]
        context.decode([Chunk(slot, piece, int(at + len(piece) == len(prompt)))])
    return len(prompt) - start


def common(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the longest common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
