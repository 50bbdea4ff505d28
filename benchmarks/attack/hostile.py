"""Hostile values: texts, JSON, and changes to JSON and to bytes, drawn from a random generator."""

import json
from random import Random
from typing import Any

TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\r\n",
        "\u202eabc",
        "\u2028",
        "\ud800",
        "\udcff",
    ),
    *(
        "<script>alert(1)</script>",
        "</script><script>x",
        "<img src=x onerror=alert(1)>",
        "javascript:alert(1)",
    ),
    *("'; DROP TABLE runs; --", "' OR '1'='1", "%s%n%x", "{0.__class__}", "{{ 7 * 7 }}", "$(reboot)", "`id`"),
    *(
        "../../etc/passwd",
        "/dev/zero",
        "file:///etc/passwd",
        "=cmd|' /C calc'!A0",
        "NaN",
        "Infinity",
        "-0",
        "1e400",
    ),
    *(
        "<tool_call>",
        "</tool_call>",
        "<|im_end|>",
        "```json",
        '{"name": ',
        "]]>",
        "a" * 5000,
        "\u0301" * 300,
        "😀" * 50,
    ),
    *(
        "2023-13-45",
        "0000-00-00 00:00:00",
        "2024-02-29T23:59:60Z",
        "99999-01-01",
        "12:61",
        "٣",
        "null",
        "true",
    ),
)
NUMBERS = (0, -1, 1, 2**31, -(2**63), 2**63, 2**64, 10**30, 0.0, -0.0, 1e308, 1e-320, 0.1 + 0.2)


def text(random: Random) -> str:
    """A text, or several together."""
    if random.random() < 0.3:
        return "".join(
            chr(random.choice((random.randrange(32, 127), random.randrange(0x2FFF)))) for _ in range(9)
        )
    return "".join(random.choices(TEXTS, k=random.choice((1, 1, 1, 2, 3))))


def value(random: Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = random.randrange(9 if depth < 4 else 6)
    if kind < 3:
        return text(random)
    if kind == 3:
        return random.choice(NUMBERS)
    if kind == 4:
        return random.choice((None, True, False))
    if kind == 5:
        return nested(random.choice((3, 50, 300))) if random.random() < 0.1 else []
    if kind == 6:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    return {text(random): value(random, depth + 1) for _ in range(random.randrange(4))}


def nested(depth: int) -> Any:
    """Lists in lists."""
    made: Any = []
    for _ in range(depth):
        made = [made]
    return made


def changed(random: Random, given: Any) -> Any:
    """A JSON value with one to three places in it changed, removed, repeated or renamed."""
    made = json.loads(json.dumps(given))
    for _ in range(random.randrange(1, 4)):
        made = _once(random, made)
    return made


def _once(random: Random, made: Any) -> Any:
    places = list(_places(made))
    if not places:
        return value(random)
    holder, key = random.choice(places)
    act = random.randrange(5)
    if act == 0:
        del holder[key]
    elif act == 1 and isinstance(holder, dict):
        holder[text(random)] = holder.pop(key)
    elif act == 2:
        other, name = random.choice(places)
        if isinstance(other, dict):
            holder[key] = json.loads(json.dumps(other.get(name)))  # no value holds itself
    elif act == 3 and isinstance(holder, list):
        holder.extend(holder[:20])
    else:
        holder[key] = value(random)
    return made


def _places(made: Any) -> Any:
    left = [made]
    while left:
        holder = left.pop()
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(len(holder))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            yield holder, key
            left.append(holder[key])


def damaged(random: Random, data: bytes, most: int = 8, kinds: int = 6) -> bytes:
    """Bytes of which some were flipped or, with more `kinds`, overwritten (4), cut out (5), cut off (6)."""
    made = bytearray(data)
    for _ in range(random.randrange(1, most + 1)):
        place = random.randrange(len(made) or 1)
        act = random.randrange(kinds)
        if act < 3 and made:
            made[place] ^= 1 << random.randrange(8)
        elif act == 3:
            made[place : place + 8] = random.choice((b"\xff" * 8, bytes(8), random.randbytes(8)))
        elif act == 4:
            del made[place : place + random.choice((1, 8, 4096))]
        elif random.random() < 0.3:
            del made[place:]
    return bytes(made)
