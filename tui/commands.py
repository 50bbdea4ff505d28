"""The command palette: everything the keys can do now, and each look by its name."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.widgets.keys import display


class Command(NamedTuple):
    """A line of the palette."""

    name: str
    help: str
    do: Callable[[], object]


class KeyCommands(Provider):
    """Offers the bindings of the screen that are possible at the moment, and the themes."""

    async def discover(self) -> Hits:
        for command in self.commands():
            yield DiscoveryHit(command.name, command.do, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self.commands():
            score = matcher.match(command.name)
            if score > 0:
                yield Hit(score, matcher.highlight(command.name), command.do, help=command.help)

    def commands(self) -> Iterator[Command]:
        """Every command, in the order of the bindings."""
        seen = set()
        for active in self.screen.active_bindings.values():
            does = active.binding.tooltip
            if not does or not active.enabled or active.binding.action in seen:
                continue
            seen.add(active.binding.action)
            run = partial(self.app.run_action, active.binding.action, active.node)
            yield Command(does, display(active.binding), run)
        for name in self.app.available_themes:
            if name.startswith("rig-"):
                use = partial(setattr, self.app, "theme", name)
                yield Command(f"theme {name.removeprefix('rig-')}", name, use)
