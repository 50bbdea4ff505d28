"""`rig models templates`: where two chat templates differ in what a model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rig.cli.options import AS_JSON, MODEL
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError, counted

if TYPE_CHECKING:
    from rig.plugins.templates.comparison import PromptDifference
    from rig.plugins.templates.sources import NamedTemplate

_MOST_SHOWN = 6
"""Different diffs that are shown without --all."""
_MOST_LINES = 24
"""Lines of a diff that are shown without --all."""
NO_ENGINE = (
    "llama-cpp-python has no access to llama.cpp's own template engine: its C interface knows templates by"
    " name alone. Give a llama-server that runs the file with --server URL."
)


@verb()
def command(
    *,
    model: str = MODEL,
    other: str | None = argument("[OTHER.jinja|OTHER.gguf]"),
    server: str | None = option(
        "Compare with what llama.cpp's own engine makes of the template, in the llama-server at this address"
        " that runs it.",
        "URL",
    ),
    all: bool = option("Show every difference in full.", flags="--all"),
    as_json: bool = AS_JSON,
) -> int:
    """Show where two chat templates differ in what a model reads.

    Both render 30 conversations: with system messages, tools, calls, results, thoughts, and texts of many
    scripts. Compared are the template of a model and another file's, or the two templates that some files
    have, or Jinja2 and llama.cpp for one template. The exit code is 1 if they differ.
    """
    # Imported here, because templates and their forms take a moment to load.
    from rig.plugins.templates.comparison import by_jinja, differences, grouped, meaning, prompts
    from rig.plugins.templates.sources import NamedTemplate, by_server, named, second_of
    from rig.plugins.templates.talks import TALKS

    first = named(model)
    texts = prompts(by_jinja(first.template))
    if server is not None:
        if other is not None:
            raise RigError("--server compares engines for one template; leave out the other")
        second = NamedTemplate(f"llama.cpp at {server}", first.template)
        others = prompts(by_server(server, first.template))
    else:
        second = named(other, tokens=first.template) if other else second_of(model)
        others = prompts(by_jinja(second.template))
    found = differences(texts, others)
    same_template = second.template.source == first.template.source
    means = {} if same_template else meaning(first.template, texts, second.template, others)
    if as_json:
        print_json(
            {
                "first": first.name,
                "second": second.name,
                "conversations": len(TALKS),
                "differ": [difference.as_json() for difference in found],
                "means": {name: list(pair) for name, pair in means.items()},
            }
        )
    else:
        _show(first, second, grouped(found), means, every=all)
        if server is None:
            click.echo(NO_ENGINE, err=True)
    return int(bool(found))


def _show(
    first: NamedTemplate,
    second: NamedTemplate,
    groups: list[tuple[PromptDifference, list[str]]],
    means: dict[str, tuple[str, str]],
    *,
    every: bool,
) -> None:
    say(f"first   {first.name}\nsecond  {second.name}\n")
    from rig.plugins.templates.talks import TALKS

    count = sum(len(names) for _, names in groups)
    if count:
        say(f"They make different prompts of {count} of {len(TALKS)} conversations.")
    else:
        say(f"They make the same prompts of all {len(TALKS)} conversations.")
    if means:
        click.echo("\nWhat it means for tools:")
        print_table(("", "FIRST", "SECOND"), [(name, *pair) for name, pair in means.items()])
    for difference, names in groups if every else groups[:_MOST_SHOWN]:
        say(f"\n{', '.join(names)}:")
        for which, parts in (("first", difference.only_first), ("second", difference.only_second)):
            if parts:
                say(f"  only the {which} shows {', '.join(parts)}")
        lines = difference.diff if every else difference.diff[:_MOST_LINES]
        say("\n".join(lines))
        if len(lines) < len(difference.diff):
            click.echo(f"… and {counted(len(difference.diff) - len(lines), 'line')}; --all shows them")
    if not every and len(groups) > _MOST_SHOWN:
        click.echo(f"\n… and {counted(len(groups) - _MOST_SHOWN, 'other difference')}; --all shows them")
