"""`rig judge`: let a model judge whole answers, and say how far that judge can be trusted."""

import click

from rig.cli.verbs import Verb, Verbs

_ANSWERS = "answers"
_VERBS = {name: Verb(f"rig.cli.judge.{name}") for name in (_ANSWERS, "calibrate", "rates")}


class _Judging(Verbs):
    """An argument that names no other command is something to judge."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*_VERBS, *context.help_option_names):
            args = [_ANSWERS, *args]
        return super().parse_args(context, args)


@click.group(cls=_Judging, later=_VERBS)
def command() -> None:
    """Let a model judge whole answers: which pass, and which of two is better.

    `rig judge RUN --judge MODEL` is short for `rig judge answers RUN --judge MODEL`.
    """
