"""Constraints by outlines_core: an automaton over tokens, built once for a tool set and kept on disk.

What Outlines wraps around it for llama.cpp is left out: a vocabulary of text, in which the parts of split
characters are lost, and a kernel that needs numba and is silent where that is missing. The vocabulary here is
the model's own bytes. Automata can need any amount of memory and time, so they are built in a process with
limits on both. Run as a program, this module is that process.

The automaton is one of a regular expression over JSON text, written with Outlines' terms. Outlines' own
`build_regex_from_schema` cannot be used: it ignores the bounds of numbers, leaves quotes in names unescaped
and passes over keywords it does not know, so it would allow what the validator refuses.
"""

import hashlib
import json
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from outlines.types.dsl import Alternatives, Regex, String, Term, to_regex
from outlines.types.dsl import Sequence as Terms
from outlines_core import Guide, Index, Vocabulary

from rig.calls import Json, JsonObject
from rig.engine.core.process import limit_memory, limit_time
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.files.caches import Damaged, DiskCache
from rig.engine.grammar.language import BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE, ConstraintError, Language, Mask
from rig.engine.grammar.patterns import canonical, decimals, integers, json_text_of
from rig.models import Notify

NAME = f"outlines_core {version('outlines_core')}"

SECONDS = 50
"""Seconds of computing to build one automaton. 28 tools take 35 s with a vocabulary of 262,144 tokens."""
MEMORY_BYTES = 2000 << 20
MOST_KEPT_BYTES = 512 << 20
"""The most bytes of automata in the cache folder."""
_PATIENCE_S = 150.0
"""The limit by the clock, for a machine that is busy."""
MOST = 256
"""The highest count that is counted: automata grow with it. Calls are judged by higher ones afterwards."""
_DEEPEST = 1
"""The levels of lists and objects in a value of any kind."""
_LONGEST = 1 << 20
"""The most characters of a regular expression; far fewer already take minutes and gigabytes to build."""
_REMEDY = "use --grammar-engine llguidance, or offer fewer or simpler tools"

_ESCAPES = r'\\(?:["\\bfnrt]|u00(?:[01][0-9a-fA-F]|7[fF]))'
_CHARACTER = rf'[^"\\\x00-\x1f\x7f]|{_ESCAPES}'


class OutlinesCoreConstraint:
    """The state of one generation: a place in the automaton.

    The text ends where the automaton does, which JSON does by itself.
    """

    def __init__(self, index: Any, n_vocab: int) -> None:
        self._guide = Guide(index)
        self._n_vocab = n_vocab
        self._mask = np.zeros((n_vocab + 32) // 32, dtype=np.int32)
        self._current: Mask | None = None
        self._error = ""

    def allowed(self) -> Mask:
        return self._bits().copy()

    def accept(self, token: int) -> None:
        if not 0 <= token < self._n_vocab or not self._bits()[token]:
            self._error = self._error or f"token {token} was refused"
            raise ConstraintError(self._error)
        self._guide.advance(token, return_tokens=False)
        self._current = None

    def forced(self) -> list[int]:
        """Return the coming tokens for as long as exactly one token of the vocabulary fits, and accept them.

        llguidance finds more: it also counts text that is forced but can be cut into tokens in several ways.
        """
        tokens: list[int] = []
        while np.count_nonzero(bits := self._bits()) == 1:
            tokens.append(int(bits.argmax()))
            self.accept(tokens[-1])
        return tokens

    @property
    def complete(self) -> bool:
        return not self._bits().any() and bool(self._guide.is_finished())

    def _bits(self) -> Mask:
        if self._error:
            raise ConstraintError(self._error)
        if self._current is None:
            self._guide.write_mask_into(self._mask.ctypes.data, self._mask.size, self._mask.itemsize)
            bits = np.unpackbits(self._mask.view(np.uint8), count=self._n_vocab, bitorder="little")
            self._current = bits.view(np.bool_)
        return self._current


class OutlinesCoreGrammar:
    """outlines_core over a GGUF file's exact bytes. Tokens with equal bytes are allowed together.

    It enforces JSON and refuses other answer formats, because an automaton cannot wait for a mark. Automata
    are kept in the folder `cache`.
    """

    def __init__(self, tokenizer: Tokenizer, cache: Path, notify: Notify) -> None:
        self._n_vocab = tokenizer.n_vocab
        ends = tokenizer.end_of_generation or (tokenizer.eos,)
        self._pieces: dict[bytes, list[int]] = {}
        for token in range(tokenizer.n_vocab):
            piece = tokenizer.piece(token)
            if piece and token not in ends and not tokenizer.is_control(token):
                self._pieces.setdefault(piece, []).append(token)
        self._vocabulary = hashlib.sha256(f"{NAME} {sorted(self._pieces.items())}".encode()).digest()
        self._cache = DiskCache(cache, "index", MOST_KEPT_BYTES)
        self._notify = notify
        self._index = lru_cache(maxsize=4)(self._compile)

    def start(self, language: Language) -> OutlinesCoreConstraint:
        """Return a new constraint to a language. Raises ConstraintError if it is too large, or not JSON."""
        if language.schema is None:
            raise ConstraintError(
                "outlines_core takes answers in JSON alone, not in a model's own form;"
                " use --format rig, or --grammar-engine llguidance"
            )
        return OutlinesCoreConstraint(self._index(str(to_regex(_term(language.schema)))), self._n_vocab)

    def _compile(self, regex: str) -> Any:
        if len(regex) > _LONGEST:
            raise ConstraintError(
                f"outlines_core: a regular expression of {len(regex):,} characters,"
                f" more than {_LONGEST:,}; {_REMEDY}"
            )
        key = hashlib.sha256(self._vocabulary + regex.encode()).hexdigest()
        with suppress(OSError, Damaged, ValueError):
            if (state := self._cache.load(key)) is not None:
                return Index.from_binary(state)
        self._notify(f"{NAME} compiles the grammar; it is kept, so that this takes long only once")
        # outlines_core has one token for the end. It gets an id that no model has, so that all are alike.
        state = _build(regex, self._n_vocab, self._pieces)
        with suppress(OSError):
            self._cache.save(key, state)
        return Index.from_binary(state)


def _term(schema: JsonObject) -> Term:
    """Return a term for the JSON texts that satisfy a narrowed schema. A whole answer must be an object.

    outlines_core's automata stop at the first alternative that matches: of 1|12 they would never see the 12.
    No text of an object is the beginning of another, so objects lose nothing.
    """
    if not schema:
        return _anything(_DEEPEST)
    match schema:
        case {"anyOf": options}:
            return Alternatives(list(map(_term, options)))
        case {"enum": values}:
            return Alternatives(list(map(_value, values)))
        case {"const": value}:
            return _value(value)
        case {"type": "string", "pattern": pattern}:
            with suppress(ValueError):
                return Regex(f'"{canonical(pattern, json_text_of, MOST)[1:-1]}"')
            return _term({"type": "string"})
        case {"type": "string"}:
            return '"' + _repeated(Regex(_CHARACTER), *_counts(schema, "minLength", "maxLength")) + '"'
        case {"type": "integer", "minimum": low, "maximum": high}:
            return Regex(integers(low, high))
        case {"type": "number", "minimum": low, "maximum": high}:
            return Regex(decimals(low, high))
        case {"type": "boolean"}:
            return Regex("true|false")
        case {"type": "null"}:
            return String("null")
        case {"type": "array", "items": items}:
            return _items("[", _term(items), "]", *_counts(schema, "minItems", "maxItems"))
        case {"additionalProperties": dict(values)}:
            pair = _term({"type": "string"}) + BETWEEN_KEY_AND_VALUE + _term(values)
            return _items("{", pair, "}", 0, None)
    return "{" + _members(schema["properties"], schema.get("required", ())) + "}"


def _counts(schema: JsonObject, lowest: str, highest: str) -> tuple[int, int | None]:
    """Return the counts of a schema, as far as an automaton can bear them."""
    high = schema.get(highest)
    return min(schema.get(lowest, 0), MOST), high if high is not None and high <= MOST else None


def _anything(depth: int) -> Term:
    """Return a term for any JSON value with so many levels of lists and objects."""
    text = _term({"type": "string"})
    scalars = [text, Regex(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?"), Regex("true|false|null")]
    if not depth:
        return Alternatives(scalars)
    inner = _anything(depth - 1)
    pair = text + BETWEEN_KEY_AND_VALUE + inner
    return Alternatives([*scalars, _items("[", inner, "]", 0, None), _items("{", pair, "}", 0, None)])


def _value(value: Json) -> Term:
    if isinstance(value, str):
        return '"' + Terms(list(map(_character, value))) + '"'
    return String(json.dumps(value))


def _character(character: str) -> Term:
    """Return a term for a character in JSON text: one spelling, and the number too for control characters."""
    text = json.dumps(character, ensure_ascii=False)[1:-1]
    if character >= " " and character != "\x7f":
        return String(text)
    digits = "".join(
        f"[{digit}{digit.upper()}]" if digit > "9" else digit for digit in f"{ord(character):04x}"
    )
    short = f"|{text[1]}" if len(text) == 2 else ""
    return Regex(rf"\\(?:u{digits}{short})")


def _items(opening: str, item: Term, closing: str, low: int, high: int | None) -> Term:
    if high == 0:
        return String(opening + closing)
    items = item + _repeated(BETWEEN_ITEMS + item, max(low - 1, 0), None if high is None else high - 1)
    return opening + (items if low else items.optional()) + closing


def _members(properties: JsonObject, required: Sequence[str]) -> Term:
    """Return a term for members in their order, with one alternative for each member that can come first."""
    keys = {name: json.dumps(name, ensure_ascii=False) + BETWEEN_KEY_AND_VALUE for name in properties}
    terms = [keys[name] + _term(inner) for name, inner in properties.items()]
    later: list[Term] = [
        BETWEEN_ITEMS + term if name in required else (BETWEEN_ITEMS + term).optional()
        for name, term in zip(properties, terms, strict=True)
    ]
    firsts: list[Term] = []
    for number, name in enumerate(properties):
        firsts.append(Terms([terms[number], *later[number + 1 :]]))
        if name in required:
            return Alternatives(firsts)
    return Alternatives(firsts).optional() if firsts else String("")


def _repeated(term: Term, low: int, high: int | None) -> Term:
    return term.at_least(low) if high is None else term.between(low, high)


def _build(regex: str, end: int, pieces: dict[bytes, list[int]]) -> bytes:
    """Build an automaton in another process and return its state. Raises ConstraintError if that fails."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import _main; _main()"
    try:
        process = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps((regex, end, pieces, MEMORY_BYTES, SECONDS)),
            capture_output=True,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise ConstraintError(f"outlines_core: {_PATIENCE_S:g} s are over; {_REMEDY}") from None
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise ConstraintError(
            f"outlines_core needs more than {SECONDS} s of computing for these tools; {_REMEDY}"
        )
    if process.returncode < 0 or not process.stdout:
        raise ConstraintError(
            f"outlines_core needs more than {MEMORY_BYTES >> 20:,} MiB of memory for these tools; {_REMEDY}"
        )
    if process.returncode:
        raise ConstraintError(f"outlines_core: {process.stdout.decode()}")
    return process.stdout


def _main() -> None:
    """Build the automaton that stdin asks for and write its state to stdout, or the fault and exit with 1."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    regex, end, pieces, memory, seconds = pickle.load(sys.stdin.buffer)
    limit_memory(memory)
    limit_time(seconds)
    try:
        _, (state,) = Index(regex, Vocabulary(end, pieces)).__reduce__()
    except ValueError as error:
        sys.stdout.write(str(error).splitlines()[0])
        sys.exit(1)
    sys.stdout.buffer.write(state)
