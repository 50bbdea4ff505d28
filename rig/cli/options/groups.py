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


class GroupedCommand(CastCommand):
    """A verb with many options. Those that are in no group have one of their own, but for roles."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (_OTHERS, *GROUPS)}
        group_of = {name: title for title, names in GROUPS.items() for name in names}
        roles = set(self.roles())
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                name = "role" if parameter.name in roles else str(parameter.name)
                sections["Output" if parameter.is_eager else group_of.get(name, _OTHERS)].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=_WIDEST)


_WIDEST = 24
"""Cells of an option's name; what is longer has its help on the next line."""
