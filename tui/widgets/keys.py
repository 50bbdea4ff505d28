"""The keys of a screen in sections, for bindings, help, palette and documentation, and the bar of keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from textual import events
from textual.binding import ActiveBinding, Binding, BindingType
from textual.keys import format_key

from rig.show.signs import is_ascii
from tui.text.lines import Line, Span, Tint, width_of
from tui.widgets.lines import Lines


class Section:
    """Keys that belong together under a title.

    The description of a binding is its word in the footer, and its tooltip says what it does.
    """

    def __init__(self, title: str, *bindings: Binding) -> None:
        self.title = title
        self.bindings = bindings


class Key(NamedTuple):
    """One line of a table of keys."""

    keys: str
    does: str


def bindings_of(sections: Iterable[Section]) -> list[BindingType]:
    """Return all bindings of the sections for a `BINDINGS`. Users can remap them by the names of actions."""
    return [replace(binding, id=binding.action) for section in sections for binding in section.bindings]


def remapped(sections: Iterable[Section], keys: Mapping[str, str]) -> list[Section]:
    """Return the sections with the user's own keys for some actions."""

    def own(binding: Binding) -> Binding:
        return binding.with_key(keys[binding.action]) if binding.action in keys else binding

    return [Section(part.title, *map(own, part.bindings)) for part in sections]


def keys_of(section: Section) -> list[Key]:
    """Return what the keys of a section do. Bindings with the same keys are one line."""
    lines: dict[str, list[str]] = {}
    for binding in section.bindings:
        does = binding.tooltip or binding.description
        lines.setdefault(display(binding), [])
        if does not in lines[display(binding)]:
            lines[display(binding)].append(does)
    return [Key(keys, "; ".join(does)) for keys, does in lines.items()]


def display(binding: Binding) -> str:
    """Return the keys of a binding in readable form."""
    if binding.key_display:
        return binding.key_display
    keys = (key.rpartition("+") for key in binding.key.split(","))
    return " ".join(f"{held}{plus}{_name(last)}" for held, plus, last in keys)


def _name(key: str) -> str:
    """Return the name of a key; Textual's for arrows are arrows."""
    name = format_key(key)
    return name if name.isascii() or not is_ascii() else key


def markdown(sections: Sequence[Section]) -> str:
    """Return the sections as Markdown, with a table for each."""
    parts = []
    for section in sections:
        rows = []
        for keys, does in keys_of(section):
            code = " ".join(f"`{key}`" for key in keys.split(" ")).replace("|", "\\|")
            rows.append(f"| {code} | {does} |")
        parts.append("\n".join([f"**{section.title}**\n", "| key | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


_GAP = "  "
_LAST = "?"
"""The key that is always shown at the end of the line, however narrow it is."""


class KeyBar(Lines):
    """A line with the screen's bindings in order; those that do not fit are only in help and palette."""

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())

    def on_resize(self, event: events.Resize) -> None:
        self.show_keys()

    def show_keys(self) -> None:
        """Update the line to the bindings that are possible now."""
        if not self.size.width:
            return
        visible = [active for active in self.screen.active_bindings.values() if active.binding.show]
        bindings = {display(active.binding).split(" ")[0]: active for active in visible}
        end = [(_LAST, bindings.pop(_LAST))] if _LAST in bindings else []
        room = self.size.width - 1 - sum(width_of(_item(*item)) for item in end)
        line: list[Span] = [(" ", Tint.PLAIN)]
        self._places = []
        for key, active in (*bindings.items(), *end):
            item = _item(key, active)
            is_last = key == _LAST
            room -= 0 if is_last else width_of(item)
            if room >= 0 or is_last:
                start = width_of(line)
                line += item
                self._places.append((start, width_of(line), active.binding.key.split(",")[0]))
        self.show([tuple(line)])

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


def _item(key: str, active: ActiveBinding) -> Line:
    tint = Tint.CALL if active.enabled else Tint.MUTED
    return ((key, tint), (f" {active.binding.description}{_GAP}", Tint.MUTED))
