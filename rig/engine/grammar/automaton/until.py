"""Regular expressions of text up to another text, without the operators that automata lack.

An automaton has no way to look ahead. How far a text has been matched is a state; these are gone through from
the last back, so that each has one expression of how it falls back to an earlier one.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Characters(NamedTuple):
    """The characters of free text: all but `never`, which is the inside of a class, and with `also`."""

    never: str = ""
    also: str = ""

    def but(self, others: str) -> str:
        """All of them but these."""
        rest = f"[^{self.never}{''.join(map(_member, others))}]" if self.never or others else "(?s:.)"
        return f"(?:{rest}|[{''.join(map(_member, self.also))}])" if self.also else rest


def until(text: str, characters: Characters) -> str:
    """Any text up to and including this one, which comes in it once, at its end."""
    begun, loops = _begun(text, characters)
    steps = (f"{re.escape(letter)}{loop}" for letter, loop in zip(text, loops, strict=True))
    return begun + "".join(steps)


def without(text: str, characters: Characters) -> str:
    """Any text that does not hold this one."""
    begun, loops = _begun(text, characters)
    rest = ""
    for letter, loop in reversed(list(zip(text, loops, strict=True))[:-1]):
        rest = f"(?:{re.escape(letter)}{loop}{rest})?"
    return begun + rest


def _begun(text: str, characters: Characters) -> tuple[str, list[str]]:
    """Text that ends with nothing matched; and for every letter what may come after it to stay as far."""
    steps = _falls(text)
    back: list[dict[int, str]] = [{} for _ in text]
    for state in range(len(text) - 1, -1, -1):
        ways: dict[int, list[str]] = {}
        for letter, target in steps[state].items():
            if letter != text[state]:
                ways.setdefault(target, []).append(re.escape(letter))
        ways.setdefault(0, []).append(characters.but("".join(steps[state])))
        if state + 1 < len(text):
            again = back[state + 1].get(state + 1)
            loop = f"(?:{again})*" if again else ""
            for target, way in back[state + 1].items():
                if target <= state:
                    ways.setdefault(target, []).append(f"{re.escape(text[state])}{loop}(?:{way})")
        back[state] = {target: "|".join(each) for target, each in ways.items()}
    loops = [f"(?:{back[state][state]})*" if state in back[state] else "" for state in range(1, len(text))]
    return f"(?:{back[0][0]})*", [*loops, ""]


def _falls(text: str) -> list[Mapping[str, int]]:
    """For every number of letters matched: how many are with one letter more, where that is any."""
    found: list[Mapping[str, int]] = []
    for state in range(len(text)):
        steps: dict[str, int] = {}
        for letter in dict.fromkeys(text):
            said = text[:state] + letter
            length = next(n for n in range(len(said), -1, -1) if said.endswith(text[:n]))
            if length:
                steps[letter] = length
        found.append(steps)
    return found


def _member(letter: str) -> str:
    return f"\\{letter}" if letter in "[]^-&~|\\" else letter
