"""Texts of small documents that stand for much: pieces in the place of a value, long lists, odd bytes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.attack.hostile import TEXTS
from benchmarks.attack.scenes import as_yaml
from benchmarks.attack.strays import as_toml

_MARK = "@@HERE@@"


def _nested(opening: str, inner: str, closing: str, levels: int) -> str:
    return opening * levels + inner + closing * levels


def _names(count: int, *more: str) -> str:
    return "{" + ", ".join([f'"n{n}": {n}' for n in range(count)] + list(more)) + "}"


def _long_list(part: str, count: int) -> str:
    return "[" + ",".join([part] * count) + "]"


def _anyof(levels: int, wide: int) -> Any:
    schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for level in range(levels):
        schema = {"allOf" if level % 2 else "anyOf": [schema] * wide}
    return schema


def _references(count: int) -> Any:
    chain_of = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**chain_of, f"d{count}": {"type": "string"}}}


_SIZES = (60, 490, 2_900, 100_000)
_SCHEMAS: tuple[Callable[[Random], Any], ...] = (
    lambda random: _anyof(random.choice((2, 4)), random.choice((4, 9))),
    lambda random: {"allOf": [{"anyOf": [{"const": f"{m}.{n}"} for n in range(12)]} for m in range(12)]},
    lambda random: _references(random.choice((3, 400, 2_900))),
    lambda random: {"$ref": "#"},
    lambda random: {"type": [{}, [], "string", None, 1, True], "enum": [1, True, 1.0, [], {}, None]},
    lambda random: {"type": "object", "required": [["a"], {"a": 1}, 1, "a", None], "properties": {"a": {}}},
    lambda random: {"type": "string", "x-format": ["a"], "format": {"a": 1}, "pattern": ["a"]},
    lambda random: {"type": "string", "pattern": random.choice(("(a+)+$", "(", "a{99999}", "[" * 5000))},
    lambda random: {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3_000)}},
    lambda random: {"enum": [{"a": n} for n in range(20_000)]},
    lambda random: {"type": "number", "maximum": "@@LONG@@", "multipleOf": 1e-300},
    lambda random: {"if": {}, "then": {}, "else": {}, "dependentSchemas": {"a": {}}, "not": {"not": {}}},
)
_SPLICES: tuple[Callable[[Random], str], ...] = (
    lambda random: _nested("[", "", "]", random.choice(_SIZES)),
    lambda random: _nested('{"a":', "1", "}", random.choice(_SIZES)),
    lambda random: _long_list(
        random.choice(("0", "[]", "{}", '"a"', "null")), random.choice((3_000, 400_000))
    ),
    lambda random: _names(random.choice((2, 40_000)), '"n1": 0'),
    lambda random: _names(random.choice((3_000, 100_000))),
    lambda random: "-" * random.choice((0, 1)) + "9" * random.choice((20, 400, 5_000)),
    lambda random: random.choice(("1e400", "-1e400", "NaN", "Infinity", "-0", "1e-400", f"0.{'1' * 400}")),
    lambda random: random.choice(
        ('"\\ud800"', '"\\udfff\\ud800"', '"\\U0011ffff"', '"\\u0000"', '"\U0010ffff"')
    ),
    lambda random: f'"{random.choice(("x", "(", " a", "a.", "1", "é", "/", "[a|b]")) * (1 << 18)}"',
    lambda random: random.choice(
        ('[1, "a", null, {}, [], true]', "null", "true", "[]", "{}", "0", '""', "1.5")
    ),
    lambda random: random.choice(('[[1], {"a": 1}, "a"]', '{"": {"": []}}', '[{"a": [1]}, {"a": [1]}]')),
    lambda random: json.dumps(random.choice(TEXTS)),
    lambda random: json.dumps(random.choice(_SCHEMAS)(random)).replace('"@@LONG@@"', "9" * 400),
    lambda random: json.dumps(random.choice(_SCHEMAS)(random)).replace('"@@LONG@@"', "9" * 400),
)
"""What comes in the place of a value, as text."""

TOML: tuple[Callable[[Random], str], ...] = (
    lambda random: f"{'a.' * 100_000}a = 1\n",
    lambda random: f"[{'a.' * random.choice((60, 3_000))}a]\nb = 1\n",
    lambda random: "".join(f"[t{n}]\na = 1\n" for n in range(40_000)),
    lambda random: "".join(f"[[t]]\nname = '{n}'\n" for n in range(40_000)),
    lambda random: f"a = {'[' * 60_000}\n",
    lambda random: f"a = {'{a=' * 2_000}1{'}' * 2_000}\n",
    lambda random: 'a = "\\U0011ffff"\n',
    lambda random: f"a = {'9' * 5_000}\n",
    lambda random: f"a.b = 1\n{'a.b.c = 1' * 3}\n",
    lambda random: "a = 9999-99-99\nb = 1979-05-27T07:32:00+99:99\n",
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    places, left = [], [value]
    while left:
        holder = left.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            left += [holder[key]] if isinstance(holder[key], dict | list) else []
    return places


def spliced(random: Random, value: Any, form: str) -> str:
    """The document with a text in the place of one of its values, or of a name."""
    holder, key = random.choice(_places(value))
    splice = random.choice(_SPLICES)(random)
    if isinstance(holder, dict) and random.random() < 0.2:
        other = random.choice((*holder, key))
        holder[_MARK] = holder[key]
        name = splice if splice[:1] == '"' else json.dumps(other)
        return as_text(value, form).replace(json.dumps(_MARK), name)
    holder[key] = _MARK
    return as_text(value, form).replace(json.dumps(_MARK), splice)


def multiplied(random: Random, value: Any, form: str) -> str:
    """The document with a list in it that is long: of copies, or of things with names of their own."""
    lists = [holder[key] for holder, key in _places(value) if isinstance(holder[key], list) and holder[key]]
    lists += [value] if isinstance(value, list) and value else []
    if not lists:
        return spliced(random, value, form)
    long = random.choice(lists)
    count, is_named = random.choice((300, 1_500, 5_000)), random.random() < 0.7
    first = json.dumps(long[0])
    count = min(count, (4 << 20) // (len(first) + 1) + 1)
    for number in range(count):
        new = json.loads(first)
        for holder, key in _places([new]) if is_named else ():
            if key in ("name", "id", "uuid") and isinstance(holder[key], str):
                holder[key] += str(number)
        long.append(new)
    return as_text(value, form)


def as_text(value: Any, form: str) -> str:
    if form == "toml":
        return as_toml(value)
    if form == "documents" and isinstance(value, list):
        return as_yaml(value)
    if form == "jsonl" and isinstance(value, list):
        return "".join(f"{json.dumps(one)}\n" for one in value)
    return value if isinstance(value, str) else json.dumps(value)


def whole(random: Random, text: str) -> bytes:
    """The bytes of a document of which something general is wrong."""
    data = text.encode("utf-8", "surrogatepass")
    at = random.randrange(len(data) + 1)
    return random.choice(
        (
            lambda: b"",
            lambda: b"\xef\xbb\xbf" * random.choice((1, 2)) + data,
            lambda: data[:at] + random.choice((b"\xff", b"\xed\xa0\x80", b"\0", b"\xc0\x80")) + data[at:],
            lambda: text.encode("utf-16"),
            lambda: data[:at],
            lambda: data + b" " * (1 << 20),
            lambda: data * 3,
            lambda: b"\n" * (1 << 20) + data,
            lambda: b"[" * (1 << 20),
            lambda: b"[" + b"[]," * (1 << 22) + b"0]",
            lambda: b"\0" * 4_096,
            lambda: random.randbytes(3_000),
            lambda: random.choice((b"null", b"[]", b"{}", b"0", b'""', b"[[]]", b"[{}]", b"9" * 5_000)),
        )
    )()
