"""Scenes that are sound, and what strangers may make of them: warped, exploding, and YAML that is a bomb."""

import json
from itertools import pairwise
from random import Random
from typing import Any

from benchmarks.attack.hostile import text, value

TOOLS: Any = [
    {
        "name": "book_lane",
        "description": "Book a lane.",
        "action": True,
        "parameters": {
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "lane": {"type": "integer", "minimum": 1, "maximum": 12},
                "item": {"type": "string", "enum": ["shoes", "rope"]},
                "note": {"type": "string", "pattern": "[a-z]+", "maxLength": 20},
            },
            "required": ["day", "lane"],
        },
        "match": {"note": "text"},
    },
    {
        "name": "tell",
        "description": "Tell somebody.",
        "action": False,
        "parameters": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
    },
]
SCENES: Any = [
    {"lists": {"fruit": ["apple", "pear", "plum"]}},
    [
        {
            "scene": "lane",
            "weight": 2,
            "tags": ["booking"],
            "slots": {
                "day": {"day": "1..14"},
                "lane": {"number": "1..12"},
                "at": {"time": "08:00..20:00", "step": 30},
                "when": {"moment": "1..9", "time": "08:00..18:00"},
                "later": {"after": "at", "minutes": [5, 10]},
                "long": {"minutes": [30, 60]},
                "fruit": {"pick": "fruit"},
                "two": {"pick": ["a", "b", "c"], "count": 2},
                "who": "person",
            },
            "turns": [
                {
                    "user": [
                        "Lane {lane} {day} at {at}.",
                        "[Book|Take] lane {lane} {day|low}, {who}, {fruit}.",
                    ],
                    "calls": [
                        {
                            "book_lane": {"day": "{day}", "lane": "{lane}"},
                            "as": "booked",
                            "returns": {"id": "B{lane}"},
                        }
                    ],
                    "reply": ["Done, {booked.id}.", "Yes, {two|list <>}."],
                },
                {
                    "either": [
                        [
                            {
                                "user": "Tell {who}.",
                                "calls": [{"tell": {"who": "{who}"}, "if": {"fruit": ["apple"]}}],
                            }
                        ],
                        [{"user": "Thanks, {long}.", "chance": 0.7, "tags": "thanks"}],
                    ]
                },
            ],
        },
        {"scene": "hello", "filler": "first", "turns": [{"user": "Hi.", "reply": "Hello."}]},
    ],
]
"""The documents of a file."""
LANE = SCENES[1][0]
HOUSE: Any = [
    [
        {
            "scene": "wake",
            "login": "in",
            "now": "06:00..20:00",
            "slots": {"at": {"time": "06:00..08:00"}, "town": "city", "task": ["call", "write"]},
            "world": {
                "alarms": [{"time": "{at}", "as": "old"}],
                "reminders": [{"task": "{task}", "if": {"task": "call"}}],
                "weather": [{"location": "{town}", "day": "{today}", "sky": "wet"}],
            },
            "turns": [
                {
                    "user": "Wake me at {at}.",
                    "calls": [{"AddAlarm": {"time": "{at}"}}],
                    "reply": "Set for {at}.",
                }
            ],
        }
    ]
]
_SIZES = (3, 60, 5000, 60_000)
_SLOTS: tuple[Any, ...] = (
    *("{a}", "{me}{a}", [], {}, None, "person", "month", [[]], [{"x": "{a}"}], -1, 1e300, True, [None]),
    *({"number": "1..999999999999999999"}, {"number": "9..1"}, {"number": "1..9", "step": 0}),
    *(
        {"day": "0..99999999999"},
        {"day": "-99999999..99999999"},
        {"day": "9999999"},
        {"day": "1..9", "weekday": 3},
    ),
    *(
        {"time": "25:99"},
        {"time": "00:00..23:59", "step": -1},
        {"time": "08:00", "step": "x"},
        {"time": None},
    ),
    *(
        {"moment": "99999999", "time": "08:00"},
        {"moment": "1"},
        {"on": "a", "at": "a"},
        {"of": ["a"]},
        {"of": "a.a"},
    ),
    *({"after": "a", "days": 10**12}, {"after": "day", "days": 9**9}, {"after": "at", "minutes": 1e300}),
    *({"minutes": 10**17}, {"minutes": "{a}"}, {"pick": ["x"], "count": 10**9}, {"pick": ["x"], "count": -1}),
    *({"pick": {"a": 1}}, {"pick": "fruit", "not": "fruit"}, {"pick": "fruit", "not": ["nothing"]}),
)
_TEXTS = (
    *(
        "",
        " ",
        "[|]",
        "[]",
        "{day}",
        "{at|plain}",
        "{at|time|time}",
        "{day.when.year}",
        "{two.-9}",
        "{two.99}",
    ),
    *(
        "{lane|a}",
        "{booked.id.x}",
        "{at.moment.__class__}",
        "{who.account}",
        "{now|list <x/list>}",
        "{day|list}",
    ),
    *(
        "{two|list <{{>}",
        "{0}",
        "{fruit|cap|cap|lower|text|count}",
        "[[a|b]|[c|{day}]]",
        "]{[}",
        "I",
        "'",
        ".",
    ),
    "{booked.id|list <></>}",
    *(
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script>",
        "\x1b]0;t\x07",
        "\u202ex",
        "%s%n",
        "- a: b",
        "&a *a",
        "!!x y",
    ),
)


def as_yaml(documents: Any) -> str:
    """As a file; JSON is YAML."""
    return "\n---\n".join(map(json.dumps, documents if isinstance(documents, list) else [documents]))


def long(random: Random) -> str:
    """A text that takes long to look through, if anybody looks at it often."""
    piece = random.choice(
        ("'", "a", "[a|b]", " ", "{day}", "{two|list <>}", "1", "it's ", "[", "{", ". A", "\n", "-")
    )
    return piece * (random.choice(_SIZES) // len(piece))


def _hostile(random: Random) -> Any:
    kind = random.randrange(10)
    if kind < 4:
        return random.choice(_TEXTS)
    if kind < 7:
        return random.choice(_SLOTS)
    return long(random) if kind == 7 else [value(random), text(random)][kind % 2]


def warped(random: Random, scenes: Any) -> Any:
    """Scenes with some values in the place of others, of the kinds that scenes have."""
    made = json.loads(json.dumps(scenes))
    for _ in range(random.choice((1, 1, 2, 4))):
        places, left = [], [made]
        while left:
            holder = left.pop()
            for key in holder if isinstance(holder, dict) else range(len(holder)):
                places.append((holder, key))
                left += [holder[key]] if isinstance(holder[key], dict | list) else []
        holder, key = random.choice(places)
        holder[key] = _hostile(random)
    return made


def exploding(random: Random) -> Any:
    """Slots of slots, which say more at each level."""
    levels, wide = random.choice((3, 8, 40)), random.choice((2, 9, 60))
    names = [f"s{level}" for level in range(levels)]
    slots: Any = {
        name: [random.choice((f"{{{below}}}", f"[{{{below}}}|{{{below}}}]", f"{{{below}|text}} ")) * wide]
        for name, below in pairwise(names)
    }
    slots[names[-1]] = [random.choice(("x", long(random), f"{{{names[0]}}}"))]
    if random.random() < 0.3:
        slots["s0"] = [[f"{{{names[-1]}}}"] * wide]
        return {
            **LANE,
            "slots": {**LANE["slots"], **slots},
            "turns": [{**LANE["turns"][0], "user": "{s0|list <>}"}],
        }
    turn = {**LANE["turns"][0], "user": random.choice(("{s0}", "{s0|cap}", "{s0}" * wide, "{lane} {s1|a}"))}
    return {**LANE, "slots": {**LANE["slots"], **slots}, "turns": [turn]}


def bomb(random: Random) -> str:
    """YAML that is more than it seems, or is no plain data."""
    size = random.choice(_SIZES)
    levels = "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n"
        for n in range(random.choice((3, 9, 30)))
    )
    alone = "- scene: a{}\n  turns: [{{user: a{}, calls: [{{tell: {{who: x}}}}]}}]\n"
    return random.choice(
        (
            lambda: levels,
            lambda: f"a: &a {'x' * size * 5}\nb: [{'*a, ' * size}]\n",
            lambda: "[" * size,
            lambda: "{" * size,
            lambda: "a: &a [*a]\n",
            lambda: "- !!python/object/apply:os.system ['touch pwned']\n",
            lambda: "!!binary aGk=\n",
            lambda: "- &x {scene: a}\n- {<<: *x}\n",
            lambda: "? [a, b]\n: c\n",
            lambda: "---\n" * size,
            lambda: "- " * size,
            lambda: "".join(alone.format(n, n) for n in range(size // 4)),
            lambda: alone.format("b", "c") * (size // 8),
            lambda: "a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, min(size, 1200))),
            lambda: "? " * size,
            lambda: "%TAG ! x\n" * size,
            lambda: f"- scene: {'a' * size}\n  turns: []\n",
            lambda: "\ufeff" * 3 + as_yaml(SCENES),
            lambda: '"' + "\\x1b" * size,
            lambda: f"lists: {{{', '.join(f'l{n}: [a]' for n in range(size // 8))}}}\n",
            lambda: "a: |\n" + " x\n" * size,
            lambda: as_yaml(SCENES).replace("fruit", "\x1b[2J"),
            lambda: "# " * size * 10,
            lambda: "- [" * size,
            lambda: "a\0b",
            lambda: as_yaml(SCENES).replace("1..14", "0..1" + "0" * random.choice((3, 17, 3000))),
        )
    )()
