"""Options that say who plays a role: `--user MODEL`, which is short for `--role user=MODEL`."""

from typing import Any

import click

from rig import methods


class CastCommand(click.Command):
    """A verb with an option for each role that a method has besides the evaluated one."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        known = super().get_params(context)
        taken = {option for parameter in known for option in parameter.opts}
        own = [_option(role) for role in self.roles() if f"--{role}" not in taken]
        place = 1 + max((n for n, parameter in enumerate(known) if parameter.name == "role"), default=-1)
        return [*known[:place], *own, *known[place:]]

    def roles(self) -> tuple[str, ...]:
        """The roles that have an option of their own."""
        return methods.other_roles()


def take_roles(given: dict[str, Any]) -> tuple[str, ...]:
    """All that was said about roles, as `ROLE=MODEL`, taken out of what was given by name."""
    named = [f"{role}={player}" for role in methods.other_roles() for player in given.pop(role, ())]
    return (*given.pop("role", ()), *named)


def _option(role: str) -> click.Option:
    players = "a model, `human` (you), or a player of the method such as `scripted`"
    return click.Option(
        [f"--{role}"], multiple=True, metavar="MODEL", help=f"Choose who plays the {role}: {players}. *"
    )
