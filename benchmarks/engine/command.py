"""`rig bench`, the verb."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.engine import report
from benchmarks.engine.prompts import DEFAULT_MAX_TOKENS
from benchmarks.engine.run import Options, bench, chosen, export
from benchmarks.engine.time_shares import profile
from benchmarks.engine.work import Work
from rig import show
from rig.cli.options import JSON_LINES, MODEL, of_table
from rig.cli.output import print_json, print_table, printable
from rig.cli.verbs import option, verb
from rig.config.options import RunConfig
from rig.core.errors import RigError
from rig.plugins.tooltalk.method import ToolTalk
from rig.running.control import Control
from rig.running.planning import plan

_COUNT = click.IntRange(min=1)
_PARALLEL = click.IntRange(1, 64)
_SUITE = click.Choice([*ToolTalk.shipped, "all"])
_WORK = ("suite", "conversations", "only", "limit", "prefixes")


@verb()
def command(
    context: click.Context,
    *,
    model: str = MODEL,
    suite: str = option("The suite.", type=_SUITE, start="easy"),
    conversations: Path | None = of_table("conversations"),
    only: tuple[str, ...] = of_table("only"),
    limit: int = option("Use only the first N conversations.", "N", type=_COUNT, start=12),
    prefixes: int = option("Use only the first N points.", "N", type=_COUNT, start=30),
    prompts: Path | None = option("Use the prompts in this file instead of conversations."),
    target: Path | None = option("Write the prompts to this file, and stop.", flags="--export"),
    max_tokens: int | None = option(
        "At most N tokens in an answer.  [default: 64, or as in --prompts]", "N", type=_COUNT
    ),
    threads: int | None = of_table("threads"),
    gpu_layers: int | None = of_table("gpu_layers"),
    n_ctx: int | None = of_table("n_ctx"),
    chat_template: Path | None = of_table("chat_template"),
    peers: str = option(
        "all, none, or some of outlines, llama-cpp-server, llama-server, llama-server-4, with commas.",
        "LIST",
        start="all",
    ),
    as_profile: bool = option(
        "Play the conversations as `rig run` does, and show where the time goes, instead.",
        flags="--profile",
    ),
    parallel: int = option(
        "Answers at once, when rig makes several; 1 skips that part.", "N", type=_PARALLEL, start=4
    ),
    repeats: int = option("How often to measure every contestant.", "N", type=_COUNT, start=3),
    as_json: bool = JSON_LINES,
) -> int | None:
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
            suite=suite,
            directory=str(conversations.absolute()) if conversations else None,
            only=only,
            limit=limit,
            prefixes=prefixes,
        ),
        prompts=prompts,
        peers=chosen(peers),
        repeats=repeats,
        parallel=parallel,
        max_tokens=max_tokens,
        gpu_layers=gpu_layers,
        n_ctx=n_ctx,
        chat_template=chat_template,
    )
    if threads:
        options = replace(options, threads=threads)
    if as_profile:
        _profile(options, parallel if _is_set(context, "parallel") else 1, as_json)
        return None
    if target is not None:
        count = export(options, target)
        click.echo(f"{target}: {count} prompts")
        return None
    found = bench(options, lambda line: click.echo(printable(line), err=True))
    if as_json:
        print_json(found.as_json())
    else:
        click.echo(f"{printable(report.heading(found))}\n")
        print_table(*report.table(found))
        click.echo("\n" + printable("\n".join(report.remarks(found))))
    return bool(found.failures)


def _profile(options: Options, parallel: int, as_json: bool) -> None:
    if options.prompts is not None:
        raise RigError("--profile plays conversations, and --prompts has none; give one of them")
    with tempfile.TemporaryDirectory(prefix="rig-bench-") as folder:
        todo = plan(
            RunConfig.of(
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
        display = show.choose("plain", sys.stderr)
        found = display.run(lambda emit: profile(todo, emit, control), control)
    if as_json:
        print_json(found.as_json())
        return
    rows = [(kind, f"{found.seconds[kind]:.2f}", f"{share:.2%}") for kind, share in found.shares.items()]
    print_table(("", "seconds", "of wall"), rows)


def _is_set(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
