"""The keys of a screen, in sections: bindings, help, footer, palette and documentation all come from here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import format_key


class Section(NamedTuple):
    """Keys that belong together under a title.

    The description of a binding is its word in the footer, its tooltip what it does in a few words.
    """

    title: str
    bindings: tuple[Binding, ...]


class Key(NamedTuple):
    """One line of a table of keys."""

    keys: str
    does: str


def bindings_of(sections: Iterable[Section]) -> list[BindingType]:
    """All bindings of the sections, for a `BINDINGS`. Users can give other keys to them, by their actions."""
    return [replace(binding, id=binding.action) for section in sections for binding in section.bindings]


def remapped(sections: Iterable[Section], keys: Mapping[str, str]) -> list[Section]:
    """The sections with the keys that a user gave to some actions."""
    return [
        section._replace(
            bindings=tuple(
                binding.with_key(keys[binding.action]) if binding.action in keys else binding
                for binding in section.bindings
            )
        )
        for section in sections
    ]


def keys_of(section: Section) -> list[Key]:
    """What a section's keys do, each action once: bindings that share their keys are one line."""
    lines: dict[str, list[str]] = {}
    for binding in section.bindings:
        does = binding.tooltip or binding.description
        lines.setdefault(display(binding), [])
        if does not in lines[display(binding)]:
            lines[display(binding)].append(does)
    return [Key(keys, "; ".join(does)) for keys, does in lines.items()]


def display(binding: Binding) -> str:
    """The keys of a binding as they are written for people."""
    if binding.key_display:
        return binding.key_display
    keys = (key.rpartition("+") for key in binding.key.split(","))
    return " ".join(f"{held}{plus}{format_key(last)}" for held, plus, last in keys)


def markdown(sections: Sequence[Section]) -> str:
    """The sections as Markdown, a table for each."""
    parts = []
    for section in sections:
        rows = []
        for keys, does in keys_of(section):
            code = " ".join(f"`{key}`" for key in keys.split(" ")).replace("|", "\\|")
            rows.append(f"| {code} | {does} |")
        parts.append("\n".join([f"**{section.title}**\n", "| key | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)
