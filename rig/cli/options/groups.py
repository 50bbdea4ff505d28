"""The options of `rig run` in groups, as its help shows them."""

import click

from rig.cli.options.roles import CastCommand

GROUPS = {
    "Conversations": (
        "suite",
        "conversations",
        "only",
        "limit",
        "repeats",
        "until",
        "loss",
        "toolbox",
        "world",
        "method",
        "role",
        "max_rounds",
        "set",
    ),
    "Prompt": (
        "docs",
        "tools",
        "history",
        "format",
        "tool_choice",
        "several_calls",
        "thinking",
        "chat_template",
    ),
    "Generation": (
        "search",
        "max_calls",
        "max_tokens",
        "thinking_tokens",
        "temperature",
        "draft",
        "seed",
        "grammar",
        "grammar_engine",
        "parameter_order",
        "exact",
    ),
    "Machine": (
        "lora",
        "threads",
        "gpu_layers",
        "n_ctx",
        "n_batch",
        "parallel",
        "kv",
        "flash_attention",
        "prefix_cache",
    ),
    "Grading": ("grader", "similarity", "threshold"),
    "Output": (
        "display",
        "name",
        "runs",
        "resume",
        "retry_failed",
        "where",
        "bell",
        "notify",
        "as_json",
        "full",
    ),
}
"""The names of parameters by the group that they are in."""

_OTHERS = "Options"


class Grouped(click.Command):
    """A verb with many options, shown in groups. Those that are in no group come first.

    The mark of what can be repeated is shown where the help explains it, as that of `rig run` does.
    """

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (_OTHERS, *GROUPS)}
        group_of = {name: title for title, names in GROUPS.items() for name in names}
        is_explained = f"marked{_MARK}" in (self.help or "")
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                group = group_of.get(self.name_in_groups(parameter), _OTHERS)
                name, text = record
                text = text if is_explained else text.replace(_MARK, "", 1)
                sections["Output" if parameter.is_eager else group].append((name, text))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=_WIDEST)

    def name_in_groups(self, parameter: click.Parameter) -> str:
        """The name that decides the group of a parameter."""
        return str(parameter.name)


class GroupedCommand(Grouped, CastCommand):
    """As `Grouped`, with an option for each role, beside `--role`."""

    def name_in_groups(self, parameter: click.Parameter) -> str:
        return "role" if parameter.name in self.roles() else super().name_in_groups(parameter)


_MARK = " *"
"""Ends the help of an option that you can repeat to make several arms."""

_WIDEST = 24
"""Cells of an option's name; what is longer has its help on the next line."""
