"""How groups of commands look and listen: help that is never cut, and suggestions for mistyped names."""

import click

from rig.errors import RigError
from rig.words import did_you_mean

HELP_NAMES = ("-h", "--help")
"""What every verb takes. A context without them would leave a command with others, which click remembers."""


class Verbs(click.Group):
    """A group whose members are listed with the whole first sentence of their help."""

    def does(self, context: click.Context, name: str) -> str:
        """What a member does, in one sentence."""
        command = self.get_command(context, name)
        return command.get_short_help_str(limit=_NO_LIMIT) if command else ""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.does(context, name)) for name in self.list_commands(context)])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, path = args[0], context.command_path
        is_name = not name.startswith("-") and not context.resilient_parsing
        if is_name and self.get_command(context, name) is None:
            near = did_you_mean(name, self.list_commands(context))
            raise RigError(f"there is no `{path} {name}`{near}; `{path} --help` lists what there is")
        return super().resolve_command(context, args)


_NO_LIMIT = 10_000
