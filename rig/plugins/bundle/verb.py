"""`rig bundle` and `rig docs`: all of rig as one file for another machine, and its documentation."""

import webbrowser
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

import click

from rig import __version__
from rig.cli.options import AS_JSON, JSON_LINES, complete_model_files, json_option
from rig.cli.output import print_json, say, show_progress
from rig.cli.verbs import HELP_NAMES, Verbs, argument, option, verb
from rig.core.errors import RigError
from rig.core.files import write
from rig.core.paths import expanded
from rig.show.texts import file_size


@verb(Verbs, invoke_without_command=True)
def command(
    context: click.Context,
    *,
    output: Path | None = option(
        "The file to write: .tar.gz, .tar.xz, .tar.zst or .tar.", flags="-o --output"
    ),
    models: tuple[str, ...] = option(
        "A model by name or path. Repeatable, or several with commas.  [default: the registry's models that"
        " are here]",
        "MODEL",
        shell_complete=complete_model_files,
    ),
    adapters: tuple[Path, ...] = option("A LoRA adapter of your own. Repeatable.", flags="--lora"),
    toolboxes: tuple[Path, ...] = option("A folder with tools. Repeatable.", flags="--toolbox"),
    instructions: Literal["native", "portable"] = option(
        "Pack llama.cpp as it is installed here, or compile it again for x86 processors since 2013 or any ARM"
        " processor; that needs its source and a compiler.",
        start="native",
    ),
    wheels: tuple[Path, ...] = option(
        "Pack this wheel instead of what is installed. Repeatable.", flags="--wheel"
    ),
    extras: tuple[str, ...] = option("Include this extra, such as autode. Repeatable.", "NAME", "--extra"),
    force: bool = option("Replace a file that is already there."),
    as_json: bool = JSON_LINES,
) -> None:
    """Pack everything rig needs into one file, for a machine without a network.

    The file holds wheels of what is installed here, models, conversations, the world, the similarity model,
    the documentation as HTML, checksums, and install.sh, which needs nothing but Python. The other machine
    needs the same system and the same version of Python. Packing needs no network either, except with
    --instructions portable.
    """
    from rig.show.base import endings_as_exceptions

    if context.invoked_subcommand:
        return
    if output is None:
        raise RigError("say where the bundle goes, as in: rig bundle -o rig-bundle.tar.gz")
    # Imported here, because it takes a moment to load, which `--help` does not need.
    from rig.plugins.bundle.contents import Contents, make

    # A file's name may contain a comma.
    split = ([model] if expanded(model).exists() else model.split(",") for model in models)
    names = tuple(chain.from_iterable(split))
    contents = Contents(names, adapters, toolboxes, wheels, extras, instructions == "portable")

    def watch(packed: int, of: int) -> None:
        show_progress("bundle", "packed, MB:", packed // 10**6, of // 10**6)

    def tell(text: str) -> None:
        click.echo(f"bundle: {text}", err=True)

    with endings_as_exceptions():
        bundle = make(output, contents, force=force, say=tell, watch=watch)
    if as_json:
        digest = bundle.digest
        print_json(
            {"output": str(output), "files": bundle.files, "size": digest.size, "sha256": digest.sha256}
        )
        return
    say(f"{output}: {bundle.files} files, {file_size(bundle.digest.size)}")
    click.echo(f"SHA-256 {bundle.digest.sha256}")


@command.verb()
def verify(file: Path = argument(), *, as_json: bool = AS_JSON) -> int:
    """Check every file of a bundle against its checksum.

    The exit code is 1 if a file differs. Nothing is unpacked. rig refuses links, names that lead out of the
    folder, and archives that unpack to far more than their size. Also compare the SHA-256 with the one that
    `rig bundle` printed when it made the file: the checksums inside cannot show that it is the same file.
    """
    from rig.plugins.bundle.contents import verify as verified

    report = verified(file)
    if as_json:
        differing = [{"file": name, "fault": fault} for name, fault in report.differing]
        about = {"ok": not differing, "sha256": report.digest.sha256, "size": report.digest.size}
        print_json({**about, "files": report.files, "differing": differing})
        return bool(differing)
    for name, fault in report.differing:
        say(f"{name}: {fault}")
    state = f"{len(report.differing)} differ" if report.differing else "all as they were packed"
    say(f"{file}: {report.files} files, {state}")
    click.echo(f"SHA-256 {report.digest.sha256}")
    return bool(report.differing)


@verb()
def docs(
    name: str | None = argument("[PAGE]"),
    *,
    listed: bool = option("List the pages instead.", flags="--list"),
    man: Path | None = option("Write the manual pages for `man` into this folder instead.", "FOLDER"),
    as_path: bool = option("Print where the page is instead of opening it.", flags="--path"),
    as_json: bool = json_option("Print the places of all pages as JSON, or of what is written."),
) -> None:
    """Open the documentation in a browser: the first page, or PAGE. It needs no network.

    \b
    Examples:
      rig docs                  the first page; / searches
      rig docs comparing        the page on comparing
      rig docs --list           all pages
      rig docs --man ~/.local/share/man/man1
    """  # noqa: D301 - for click
    from rig.plugins.bundle import site

    if man is not None:
        written = dict(man_pages(click.get_current_context().find_root().command))
        man.mkdir(parents=True, exist_ok=True)
        for file, text in written.items():
            write(text, man / file, force=True)
        if as_json:
            print_json({"folder": str(man), "files": list(written)})
        else:
            say(f"wrote {len(written)} pages to {man}")
        return
    folder = site.site()
    if as_json:
        print_json({name: str(path) for name, path in site.pages(folder).items()})
        return
    if listed:
        for title, path in site.pages(folder).items():
            say(f"{title:<20} {path.relative_to(folder).parent}")
        return
    path = site.page(folder, name)
    if as_path:
        say(str(path))
    elif not webbrowser.open(path.resolve().as_uri()):
        say(f"rig: no browser was found; open {path} yourself", err=True)


def commands(
    command: click.Command, path: tuple[str, ...] = ("rig",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its path, each group before its members."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is None:
                raise LookupError(f"{' '.join(path)} lists {name} but does not have it")
            yield from commands(member, (*path, name))


def man_pages(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of a page for each command, such as `rig.1` or `rig-models-list.1`."""
    pages = list(commands(command))
    for path, member in pages:
        name = "-".join(path)
        below = ["-".join(other) for other, _ in pages if other[:-1] == path]
        yield f"{name}.1", "".join(f"{line}\n" for line in _page(name, " ".join(path), member, below))


def _page(name: str, typed: str, command: click.Command, below: list[str]) -> Iterator[str]:
    context = click.Context(command, info_name=typed)
    context.help_option_names = list(HELP_NAMES)
    summary = command.get_short_help_str(limit=1_000).rstrip(".")
    yield f'.TH {name.upper()} 1 "" "rig {__version__}" "rig"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(summary)}", ".SH SYNOPSIS")
    yield f"\\fB{_text(typed)}\\fR {_text(' '.join(command.collect_usage_pieces(context)))}"
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and lines[0].strip() == "\b":
            yield from (".PP", ".nf", *map(_text, lines[1:]), ".fi")
        elif lines:
            yield from (".PP", *(_text(line.strip()) for line in lines))
    records = [
        record for option in command.get_params(context) if (record := option.get_help_record(context))
    ]
    yield from (".SH OPTIONS",) if records else ()
    for flags, does in records:
        yield from (".TP", f"\\fB{_text(flags)}\\fR", _text(" ".join(does.split())) or "\\&")
    if below:
        yield from (".SH SEE ALSO", ", ".join(f"\\fB{_text(other)}\\fR(1)" for other in below))


def _text(text: str) -> str:
    """Escape a line for roff, so that nothing in it is a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
