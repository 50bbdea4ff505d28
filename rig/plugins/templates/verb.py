"""`rig models templates`: where two chat templates differ in what a model reads."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

import click

from rig.cli.options import AS_JSON, MODEL
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError, counted

if TYPE_CHECKING:
    from rig.plugins.templates.comparison import Prompt, PromptDifference
    from rig.plugins.templates.sources import NamedTemplate

_MOST_SHOWN = 6
"""Different diffs that are shown without --all."""
_MOST_LINES = 24
"""Lines of a diff that are shown without --all."""
OTHER_ENGINE = (
    "Both were rendered by Jinja2. llama.cpp's own engine may make other prompts of them: --server llama.cpp"
    " compares the two."
)


@verb()
def command(
    *,
    model: str = MODEL,
    other: str | None = argument("[OTHER.jinja|OTHER.gguf]"),
    server: str | None = option(
        "Compare with what llama.cpp's own engine makes of the template: in the llama-server at this address"
        " that runs it, or with llama.cpp in one that rig starts on this machine (package xllamacpp).",
        "URL|llama.cpp",
    ),
    template_set: str | None = option(
        "Set variables in the second template, which is the model's own unless another file is given.",
        "NAME=VALUE,…",
    ),
    all: bool = option("Show every difference in full.", flags="--all"),
    as_json: bool = AS_JSON,
) -> int:
    """Show where two chat templates differ in what a model reads.

    Both render 30 conversations: with system messages, tools, calls, results, thoughts, and texts of many
    scripts. Compared are the template of a model and another file's, or the two templates that some files
    have, or one with and without variables, or with --server Jinja2 and llama.cpp for one template: the
    model's, or the other Jinja2 file's. The exit code is 1 if they differ.
    """
    # Imported here, because templates and their forms take a moment to load.
    from rig.plugins.templates.comparison import by_jinja, differences, grouped, meaning, prompts
    from rig.plugins.templates.sources import named, second_of, tokens_of, with_variables
    from rig.plugins.templates.talks import TALKS

    if server is not None:
        if template_set:
            raise RigError("--server compares engines for one template; leave out --template-set")
        first, second, texts, others = _by_engines(model, other, server)
    else:
        first = named(model)
        if other or not template_set:
            second = named(other, tokens=first.template) if other else second_of(model)
        else:
            second = first
        second = with_variables(second, template_set)
        texts, others = (prompts(by_jinja(one.template)) for one in (first, second))
    changes = differences(texts, others)
    means = {} if server is not None else meaning(first.template, texts, second.template, others)
    tokens = tokens_of(model, texts, others)
    if as_json:
        print_json(
            {
                "first": first.name,
                "second": second.name,
                "conversations": len(TALKS),
                "differ": [difference.as_json() for difference in changes],
                "means": {name: list(pair) for name, pair in means.items()},
                "tokens": tokens and list(tokens),
            }
        )
    else:
        if tokens:
            means["tokens of all prompts"] = (f"{tokens[0]:,}", f"{tokens[1]:,}")
        _show(first, second, grouped(changes), means, every=all)
        if server is None:
            click.echo(OTHER_ENGINE, err=True)
    return int(bool(changes))


def _by_engines(
    model: str, other: str | None, server: str
) -> tuple[NamedTemplate, NamedTemplate, dict[str, Prompt], dict[str, Prompt]]:
    """Return one template by its two engines, and what each makes of it. Raises RigError."""
    from rig.plugins.templates.comparison import by_jinja, prompts
    from rig.plugins.templates.own_server import NAME, llama_cpp
    from rig.plugins.templates.sources import SERVED, NamedTemplate, by_server, named, weights_of

    first = named(model)
    if other is not None:
        first = named(other, tokens=first.template)
    now = datetime.now()  # noqa: DTZ005 - llama.cpp writes the local date
    texts = prompts(by_jinja(first.template, SERVED, now))
    with (
        llama_cpp(weights_of(model), first.template.source) if server == NAME else nullcontext(server) as url
    ):
        others = prompts(by_server(url, first.template, now))
    second = NamedTemplate(f"llama.cpp's engine{'' if server == NAME else f' at {server}'}", first.template)
    return first, second, texts, others


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
        click.echo("\nWhat it means:")
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
