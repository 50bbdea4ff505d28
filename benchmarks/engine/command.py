"""`rig bench`, the verb."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from benchmarks.engine import report
from benchmarks.engine.prompts import DEFAULT_MAX_TOKENS
from benchmarks.engine.run import Options, bench, chosen, export
from benchmarks.engine.time_shares import profile
from benchmarks.engine.work import Work
from rig import displays
from rig.cli import completion
from rig.cli.options import json_option, named_options
from rig.cli.output import print_json, print_table, printable
from rig.errors import RigError
from rig.methods.tooltalk.conversations import SUITES
from rig.running.control import Control
from rig.running.options import Options as RunOptions
from rig.running.planning import plan

_COUNT = click.IntRange(min=1)
_FILE = click.Path(path_type=Path)
_WORK = ("suite", "conversations", "only", "limit", "prefixes")


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@click.option(
    "--suite", type=click.Choice([*SUITES, "all"]), default="easy", show_default=True, help="The suite."
)
@named_options("conversations", "only")
@click.option(
    "--limit",
    type=_COUNT,
    metavar="N",
    default=12,
    show_default=True,
    help="Use only the first N conversations.",
)
@click.option(
    "--prefixes", type=_COUNT, metavar="N", default=30, show_default=True, help="Use only the first N points."
)
@click.option("--prompts", type=_FILE, help="Use the prompts in this file instead of conversations.")
@click.option("--export", "target", type=_FILE, help="Write the prompts to this file, and stop.")
@click.option(
    "--max-tokens",
    type=_COUNT,
    metavar="N",
    help="At most N tokens in an answer.  [default: 64, or as in --prompts]",
)
@named_options("threads", "gpu_layers", "n_ctx", "chat_template")
@click.option(
    "--peers",
    default="all",
    show_default=True,
    metavar="LIST",
    help="all, none, or some of outlines, llama-cpp-server, llama-server, llama-server-4, with commas.",
)
@click.option(
    "--profile",
    "as_profile",
    is_flag=True,
    help="Play the conversations as `rig run` does, and show where the time goes, instead.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    metavar="N",
    default=4,
    show_default=True,
    help="Answers at once, when rig makes several; 1 skips that part.",
)
@click.option(
    "--repeats",
    type=_COUNT,
    metavar="N",
    default=3,
    show_default=True,
    help="How often to measure every contestant.",
)
@json_option("Print JSON, with every answer of every pass.")
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    prompts: Path | None,
    target: Path | None,
    peers: str,
    as_profile: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Measure the engine against its floor, and against other ways to run the same prompts.

    The prompts are the points in the first conversations at which the model has to act, with all tools on
    offer and one constrained answer each. The floor is the time llama.cpp needs to decode the same tokens
    again with nothing around it. Answers are not judged; you get ratios with their spread.
    """
    if prompts is not None and (clashing := [name for name in _WORK if _is_set(context, name)]):
        raise RigError(f"--prompts and --{clashing[0]} are two answers to one question; give one of them")
    options = Options(
        model=model,
        work=Work(
            suite=given["suite"],
            directory=str(given["conversations"].absolute()) if given["conversations"] else None,
            only=given["only"],
            limit=given["limit"],
            prefixes=given["prefixes"],
        ),
        prompts=prompts,
        peers=chosen(peers),
        repeats=given["repeats"],
        parallel=given["parallel"],
        max_tokens=given["max_tokens"],
        gpu_layers=given["gpu_layers"],
        n_ctx=given["n_ctx"],
        chat_template=given["chat_template"],
    )
    if given["threads"]:
        options = replace(options, threads=given["threads"])
    if as_profile:
        _profile(options, given["parallel"] if _is_set(context, "parallel") else 1, as_json)
        return
    if target is not None:
        count = export(options, target)
        click.echo(f"{target}: {count} prompts")
        return
    found = bench(options, lambda line: click.echo(printable(line), err=True))
    if as_json:
        print_json(found.as_json())
    else:
        click.echo(f"{printable(report.heading(found))}\n")
        print_table(*report.table(found))
        click.echo("\n" + printable("\n".join(report.remarks(found))))
    sys.exit(1 if found.failures else 0)


def _profile(options: Options, parallel: int, as_json: bool) -> None:
    if options.prompts is not None:
        raise RigError("--profile plays conversations, and --prompts has none; give one of them")
    with tempfile.TemporaryDirectory(prefix="rig-bench-") as folder:
        todo = plan(
            RunOptions(
                models=(options.model,),
                suite=options.work.suite,
                conversations=Path(options.work.directory) if options.work.directory else None,
                only=options.work.only,
                limit=options.work.limit,
                max_tokens=options.max_tokens or DEFAULT_MAX_TOKENS,
                n_ctx=options.n_ctx,
                threads=options.threads,
                parallel=parallel,
                gpu_layers=options.gpu_layers,
                chat_template=options.chat_template,
            ),
            Path(folder) / "runs.sqlite",
        )
        control = Control()
        display = displays.choose("plain", sys.stderr)
        found = display.run(lambda emit: profile(todo, emit, control), control)
    if as_json:
        print_json(found.as_json())
        return
    rows = [(kind, f"{found.seconds[kind]:.2f}", f"{share:.2%}") for kind, share in found.shares.items()]
    print_table(("", "seconds", "of wall"), rows)


def _is_set(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
