"""`rig judge`: let a model judge whole answers, and say how far that judge can be trusted."""

import importlib

import click

from rig.cli.judge.answers import command as answers
from rig.cli.verbs import Verbs

_OTHERS = {"calibrate": "rig.cli.judge.calibrate", "rates": "rig.cli.judge.rates"}


class _Judging(Verbs):
    """An argument that names no other command is something to judge."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*_OTHERS, answers.name, *context.help_option_names):
            args = [str(answers.name), *args]
        return super().parse_args(context, args)

    def list_commands(self, context: click.Context) -> list[str]:
        return [str(answers.name), *_OTHERS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name == answers.name:
            return answers
        if name not in _OTHERS:
            return None
        command: click.Command = importlib.import_module(_OTHERS[name]).command
        return command


@click.group(cls=_Judging)
def command() -> None:
    """Let a model judge whole answers: which pass, and which of two is better.

    `rig judge RUN --judge MODEL` is short for `rig judge answers RUN --judge MODEL`.
    """
