"""Regular expressions that every part of rig reads alike: both grammar engines, and Python's `re` afterwards.

JSON Schema's patterns are ECMAScript's; the engines have Rust's, the validator has Python's, and one of the
engines matches the JSON text instead of the string that it stands for. A pattern is therefore written again
from the parts that mean the same everywhere, and over characters that JSON spells in one way only.
"""

import re
from collections.abc import Iterable, Iterator

MOST = 256
"""The highest count in a quantifier, and of characters or items asked for: automata grow with it."""

_ESCAPED = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F), (0xD800, 0xDFFF))
"""Characters that JSON text does not hold as they are: controls, quote, backslash, DEL; and surrogates."""

_SHORTHANDS = {"d": ((48, 57),), "w": ((48, 57), (65, 90), (95, 95), (97, 122)), "s": ((32, 32),)}
"""ASCII alone, as in ECMAScript; of white space only the space is left, the rest would be escaped."""

_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<escape>\\.)"
    r"|(?P<open>\((?:\?:)?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<either>\|)"
    r"|(?P<repeat>[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})"
    r"|(?P<any>\.)"
    r"|(?P<literal>[^\\^$.|?*+()\[\]{}])",
    re.DOTALL,
)
_ITEM = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.DOTALL)

Ranges = tuple[tuple[int, int], ...]


def canonical(pattern: str) -> str:
    """The pattern in the form that all read alike, `^(?:…)$`. Raises ValueError with a reason.

    It may be narrower than it was, never wider: characters that JSON would escape are left out of classes.
    """
    if not pattern.startswith("^") or not re.search(r"(?<!\\)(?:\\\\)*\$\Z", pattern):
        raise ValueError("it has to begin with ^ and end with $")
    text = f"^(?:{''.join(_parts(pattern[1:-1]))})$"
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return text


def _parts(text: str) -> Iterator[str]:
    place, depth, repeated = 0, 0, True
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ValueError(f"{text[place : place + 3]!r} is not understood")
        kind, part, place = token.lastgroup, token[0], token.end()
        depth += (kind == "open") - (kind == "close")
        if kind == "either" and depth == 0:
            raise ValueError("alternatives need parentheses around them, or ^ and $ belong to one of them")
        if kind == "repeat":
            if repeated:
                raise ValueError(f"{part!r} has nothing of its own to repeat")
            if any(int(count) > MOST for count in re.findall("[0-9]+", part)):
                raise ValueError(f"{part} counts further than {MOST}")
        repeated = kind in ("repeat", "open", "either")
        match kind:
            case "open":
                yield "(?:"
            case "any":
                yield _class(_without(((0, 0x10FFFF),), _ESCAPED))
            case "class":
                yield _class(_members(part))
            case "escape" if part[1] in "dwsDWS":
                yield _class(_shorthand(part[1]))
            case "escape" | "literal":
                yield re.escape(_plain(part))
            case _:
                yield part


def _members(part: str) -> Ranges:
    negated = part.startswith("[^")
    ranges: list[tuple[int, int]] = []
    for item in _ITEM.finditer(part[2:-1] if negated else part[1:-1]):
        first, last = item[1], item[2]
        if first[0] == "\\" and first[-1] in "dwsDWS":
            if last is not None:
                raise ValueError(f"{item[0]!r} is not a range")
            ranges += _shorthand(first[1])
            continue
        low = ord(_plain(first, in_class=True))
        high = low if last is None else ord(_plain(last, in_class=True))
        if high < low:
            raise ValueError(f"{item[0]!r} is not a range")
        ranges.append((low, high))
    members = _without(((0, 0x10FFFF),), ranges) if negated else tuple(ranges)
    return _without(members, _ESCAPED)


def _shorthand(letter: str) -> Ranges:
    characters = _SHORTHANDS[letter.lower()]
    return _without(_without(((0, 0x10FFFF),), characters), _ESCAPED) if letter.isupper() else characters


def _plain(part: str, *, in_class: bool = False) -> str:
    """The character that a literal or an escaped one stands for."""
    character = part[-1]
    if part[0] == "\\" and len(part) == 2 and (character.isalnum() or not character.isascii()):
        raise ValueError(f"{part!r} is not understood")
    if not in_class and any(low <= ord(character) <= high for low, high in _ESCAPED):
        raise ValueError(f"{character!r} has more than one spelling in JSON")
    return character


def _without(ranges: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]) -> Ranges:
    left = list(ranges)
    for low, high in taken:
        pieces = []
        for start, end in left:
            pieces += [(start, min(end, low - 1)), (max(start, high + 1), end)]
        left = [(start, end) for start, end in pieces if start <= end]
    return tuple(left)


def _class(ranges: Ranges) -> str:
    if not ranges:
        raise ValueError("a class of characters is empty, or holds only such as JSON escapes")
    return "[" + "".join(_range(low, high) for low, high in sorted(set(ranges))) + "]"


def _range(low: int, high: int) -> str:
    return _member(low) if low == high else f"{_member(low)}-{_member(high)}"


def _member(code: int) -> str:
    character = chr(code)
    return f"\\{character}" if character in "[]^-&~|" else character
