"""`rig models tune`: find the best file of a model at a size."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig.cli import INTERRUPTED
from rig.cli.options import DISPLAY, JSON_LINES, MODEL, OUTPUT, WRITTEN_STORE, Grouped, table_options
from rig.cli.output import print_json, say
from rig.cli.run import exit_code, show_run
from rig.cli.verbs import option, verb
from rig.config.options import TABLE, RunConfig
from rig.core.errors import RigError
from rig.core.files import write
from rig.plugins.screen.verb import as_asked, progress, screening_of
from rig.plugins.tune.verbs import bar, types
from rig.show.texts import file_size

if TYPE_CHECKING:
    from rig.plugins.tune.tune import Funnel

_LEFT_OUT = ("lora", "until", "repeats", *(o.name for o in TABLE.values() if o.commas))
"""Options that tuning chooses, that would need another file, or that make several arms."""


@verb(Grouped, options=table_options(single=True, without=_LEFT_OUT))
def command(
    *,
    model: str = MODEL,
    size: str = option("The largest that the file may be, such as 4GiB or 900MB.", "SIZE", required=True),
    to: str | None = option(
        "The types to try.  [default: all but f32, f16, bf16 and the ternary ones]", "TYPE,..."
    ),
    tensor: tuple[str, ...] = option(
        "Also try each type with these tensors as another type. Repeatable.  [default: attn_=q6_k and"
        " ffn_down=q5_k]",
        "REGEX=TYPE",
    ),
    candidates: int = option(
        "Screen the N largest files under the size.", "N", type=click.IntRange(1), start=12
    ),
    output: Path | None = option(
        "Keep the state, the importance matrix and the card in this folder.  [default: MODEL-tuned]",
        "DIR",
        "-o --output",
        group=OUTPUT,
    ),
    display: str = DISPLAY,
    runs: Path = WRITTEN_STORE,
    as_json: bool = JSON_LINES,
    **values: Any,
) -> int | None:
    """Find the best file of a model at a size: make candidates, screen them, play three, keep one.

    Candidates are types, each with and without an importance matrix and with other types for some tensors;
    llama.cpp says how large each would be. The largest that fit are made one by one and ordered by their
    divergence from the model, on conversations set apart for calibration. The closest three play the others
    against the model until it is clear whether they lose as much as --loss. One file stays in the models
    folder, with its card.

    A tuning that was stopped or killed goes on when you give the same command again.
    """
    from rig.compare.arms import ComparisonOptions
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.report import model_card
    from rig.plugins.resources.decision import size_in_bytes
    from rig.plugins.strategies.looks import compare_sequentially
    from rig.plugins.tune.quantize import TensorType
    from rig.plugins.tune.tune import KINDS, MIXTURES, Funnel
    from rig.running.planning import recipe_of
    from rig.show.base import endings_as_exceptions
    from rig.store import Runs

    most = size_in_bytes(size, "--size")
    pairs = ((name, value) for name, value in values.items() if value not in (None, ()))
    options = {name: value for name, value in pairs if value is not False or TABLE[name].default}
    chosen, method, tasks = as_asked({**options, "models": (model,)}, "calibration")
    screening = screening_of(chosen, method, tasks)
    kinds = types(to) if to else KINDS
    mixtures = ((), *((TensorType.parse(text),) for text in tensor)) if tensor else MIXTURES
    folder = output or Path(f"{screening.models[0].name}-tuned")
    tell = partial(say, err=True)
    with endings_as_exceptions():
        funnel = Funnel(
            screening,
            most,
            kinds,
            mixtures,
            candidates,
            folder=folder,
            options=recipe_of(chosen, method.models(()).keys()),
            notify=tell,
        )
        tell(funnel.text)
        funnel.calibrate(progress("read"))
        for line in funnel.screen(lambda name: bar(name, "quantizing"), progress()):
            tell(f"{line}; {funnel.text}")
    models = (model, *(str(funnel.place(name)) for name in funnel.finalists))
    compared = chosen.replace(models=models, without=(*chosen.without, "calibration"), until="verdict")
    if _is_stopped(funnel, compared, runs, display):
        return INTERRUPTED
    with Runs.open(runs) as opened:
        played = compare_sequentially(opened, [funnel["run"]], chosen.loss / 100).arms
        best = funnel.choose(played)
        card = model_card.card_of(opened, f"{funnel['run']}/{best.arm}", ComparisonOptions())
    info = inspect(funnel.end(best.arm))
    cards = [str(folder / f"{best.arm}.{ending}") for ending in ("md", "json")]
    for place, form in zip(cards, (model_card.as_markdown, model_card.as_json), strict=True):
        write(form(card), Path(place), force=True)
    tell(funnel.text)
    if as_json:
        print_json(
            {
                "model": best.arm,
                "path": str(info.path),
                "size": info.size,
                "cards": cards,
                "origin": info.origin and info.origin.as_json(),
                "verdict": {**best.as_json(), "text": best.judged.text},
                "played": [arm.as_json() for arm in played],
                "screened": funnel.screened,
                "funnel": funnel.text,
                "against": model,
                "run": funnel["run"],
                "store": str(runs),
            }
        )
        return None
    for arm in played:
        row, mark = funnel.screened[arm.arm], "*" if arm is best else " "
        text = f"{row['divergence']:.4f} nats from {model}, {arm.judged.text}; {arm.judged.bounds}"
        say(f"{mark} {arm.arm}: {file_size(row['size'])}, {text}")
    say(f"{info.path}: {info.origin.note if info.origin else ''}; card: {' and '.join(cards)}")
    if best.judged.found == "shown":
        say("even this one loses that much; allow a larger --size")
    return None


def _is_stopped(funnel: Funnel, config: RunConfig, store: Path, display: str) -> bool:
    """Play the finalists against the model unless that is finished. Return whether it was stopped."""
    from rig.running.planning import plan, plan_resume
    from rig.store import Runs

    state = None
    if store.is_file():
        with Runs.open(store) as opened:
            state = next((run.state for run in opened.all() if run.id == funnel["run"]), None)
    if state == "finished":
        return False
    if state is None:
        todo = plan(config, store)
        funnel.keep(run=todo.run)
    else:
        todo = plan_resume(funnel["run"], {"models": config.models}, store)
    if len(todo.arms) != len(config.models):
        raise RigError("tuning plays every file in one way; give each option one value")
    # stdout is for the result.
    todo = replace(todo, notice=funnel.text)
    return exit_code(*show_run(todo, display, as_json=True)) == INTERRUPTED
