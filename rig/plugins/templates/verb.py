"""`rig models templates`: where two chat templates differ in what a model reads."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import click

from rig.cli.options import AS_JSON, MODEL
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import argument, option, verb
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import read_text
from rig.plugins.llama.core.template import ChatTemplate, probing
from rig.plugins.templates.comparison import (
    Difference,
    Prompt,
    Render,
    by_jinja,
    differences,
    facts,
    grouped,
    prompts,
)
from rig.plugins.templates.talks import TALKS, Talk

_MOST_SHOWN = 6
"""Different diffs that are shown without --all."""
_JINJA = (".jinja", ".jinja2", ".j2", ".txt")
_MOST_LINES = 24
"""Lines of a diff that are shown without --all."""
NO_ENGINE = (
    "llama-cpp-python has no access to llama.cpp's own template engine: its C interface knows templates by"
    " name alone. Give a llama-server that runs the file with --server URL."
)


class Named(NamedTuple):
    """A template with the name that people gave."""

    name: str
    template: ChatTemplate


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
    first = named(model)
    texts = prompts(by_jinja(first.template))
    if server is not None:
        if other is not None:
            raise RigError("--server compares engines for one template; leave out the other")
        second = Named(f"llama.cpp at {server}", first.template)
        others = prompts(by_server(server, first.template))
    else:
        second = named(other, tokens=first.template) if other else _second_of(model)
        others = prompts(by_jinja(second.template))
    found = differences(texts, others)
    same_template = second.template.source == first.template.source
    with probing():
        means = {} if same_template else _means(first, texts, second, others)
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
        _show(first, second, found, means, every=all)
        if server is None:
            click.echo(NO_ENGINE, err=True)
    return int(bool(found))


def named(text: str, *, tokens: ChatTemplate | None = None) -> Named:
    """Return the template of a Jinja2 file, or the one that rig runs a model with. Raises RigError.

    A Jinja2 file names no tokens for beginning and end; they are those of another template, or `<s>`.
    """
    if text.endswith(_JINJA):
        bos, eos = (tokens.bos, tokens.eos) if tokens else ("<s>", "</s>")
        return Named(text, _compiled(text, read_text(Path(text)), bos, eos))
    # Imported here, because they load llama.cpp.
    from rig.plugins.llama.core.llama import LlamaModel
    from rig.plugins.llama.core.tokenizer import Tokenizer
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.memory.weights import check_loads

    resolved = registry.resolve(text)
    info = inspect(resolved.path)
    source = registry.template_source(info, None, own_format=True)
    if source is None:
        raise RigError(f"{text}: has no chat template")
    check_loads(info.path, weightless=True)
    with closing(LlamaModel(info.path, weightless=True)) as model:
        tokenizer = Tokenizer(model)
        bos, eos = (tokenizer.special_text(token) for token in (tokenizer.bos, tokenizer.eos))
    return Named(text, _compiled(text, source, bos, eos))


def _compiled(name: str, source: str, bos: str, eos: str) -> ChatTemplate:
    try:
        return ChatTemplate(source, bos=bos, eos=eos)
    except RigError as error:
        raise RigError(f"{name}: {error}") from error


def _second_of(model: str) -> Named:
    """Return the template of a file besides the one that rig runs it with. Raises RigError."""
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.info import inspect

    if not model.endswith(_JINJA):
        info = inspect(registry.resolve(model).path)
        used = registry.template_source(info, None, own_format=True)
        templates = {"its default template": info.chat_template, **info.other_templates}
        of_family = registry.template_of(registry.family_of(info))
        for name, source in {**templates, "the registry's template": of_family}.items():
            if source and source != used:
                first = named(model).template
                return Named(f"{model}: {name}", _compiled(name, source, first.bos, first.eos))
    raise RigError(f"{model}: has one template; give another file to compare it with, or --server URL")


def by_server(url: str, template: ChatTemplate) -> Render:
    """Return what has a llama-server render conversations. Raises RigError if it runs another template."""
    from rig.plugins.served.wire.address import Address
    from rig.plugins.served.wire.client import HttpClient
    from rig.plugins.served.wire.faults import ServerFault

    client = HttpClient(Address.parse(url), timeout_s=60.0)
    client.find()
    theirs = client.try_get("/props").get("chat_template")
    if not isinstance(theirs, str):
        raise RigError(f"{url}: tells no chat template; --server is for llama-server")
    if theirs.strip() != template.source.strip():
        raise RigError(f"{url}: runs another chat template than the file's; start it with the same file")
    bos = template.bos

    def render(talk: Talk) -> Prompt:
        talk = talk.with_texts()
        body: JsonObject = {"messages": list(talk.messages), "chat_template_kwargs": dict(talk.variables)}
        if talk.tools:
            body["tools"] = list(talk.tools)
        try:
            answer = client.post("/apply-template", body)
        except ServerFault as fault:
            return Prompt("", " ".join(str(fault).split())[:200])
        text = str(answer.get("prompt", "")) if isinstance(answer, dict) else ""
        # The server leaves out a first token that its tokenizer adds.
        ours = by_jinja(template)(talk)
        is_added = bool(bos) and ours.text.startswith(bos) and not text.startswith(bos)
        return Prompt(bos + text if is_added else text)

    return render


def _means(
    first: Named, texts: dict[str, Prompt], second: Named, others: dict[str, Prompt]
) -> dict[str, tuple[str, str]]:
    """Return what the templates mean for tools where they differ."""
    one, other = facts(first.template, texts), facts(second.template, others)
    pairs = {name: (one.get(name, "—"), other.get(name, "—")) for name in {**one, **other}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _show(
    first: Named,
    second: Named,
    found: list[Difference],
    means: dict[str, tuple[str, str]],
    *,
    every: bool,
) -> None:
    say(f"first   {first.name}\nsecond  {second.name}\n")
    if not found:
        say(f"They make the same prompts of all {len(TALKS)} conversations.")
    else:
        say(f"They make different prompts of {len(found)} of {len(TALKS)} conversations.")
    if means:
        click.echo("\nWhat it means for tools:")
        print_table(("", "FIRST", "SECOND"), [(name, *pair) for name, pair in means.items()])
    groups = grouped(found)
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
