"""`rig screen`: measure how likely models make the true calls, without generating."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.cli import INTERRUPTED
from rig.cli import options as shared
from rig.cli.output import print_json, say, say_failures, show_progress, terminal_width
from rig.cli.verbs import argument, option, verb
from rig.config.option import MACHINE
from rig.config.options import TABLE, RunConfig, require_one_suite, told_by
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import json_text, write
from rig.core.intervals import with_interval
from rig.core.tasks import Part, Task, select
from rig.plugins.llama.core.options import EngineOptions
from rig.show.table import Row, columns
from rig.show.texts import UNKNOWN, clock_time, percent

if TYPE_CHECKING:
    from rig.methods.base import Method
    from rig.plugins.screen.corpus import Corpus, CorpusScreen
    from rig.plugins.screen.divergence import DivergenceFigures, Measure
    from rig.plugins.screen.results import ArmScreen, KindFigures, Screen
    from rig.plugins.screen.screening import Screening
    from rig.plugins.screen.validity import Validity

_SEVERAL = {name: option for name, option in TABLE.items() if option.several and not option.listed}
_VARIED = {name: option.place for name, option in _SEVERAL.items() if "screen" in option.verbs}
"""The settings that decide a screen and that can vary within a run, by their place in a fingerprint."""
_SELECTING = ("models", "only", "limit", "without")
"""Options that can go with --against: they select among the run's models and conversations."""


@verb(shared.Grouped, options=shared.table_options("screen", single=True))
def command(
    *,
    models: tuple[str, ...] = argument("BASE [ARM]...", shell_complete=shared.complete_model_files),
    against: tuple[str, ...] = option(
        "Use the settings of this stored run (or RUN/ARM), and show how well screening predicts its results."
        " Repeatable.",
        "RUN",
        shell_complete=shared.complete_runs,
    ),
    runs: Path = shared.STORE,
    kld: bool = option(
        "Also compare all tokens of the answers over the whole vocabulary: D(BASE‖ARM), as llama-perplexity"
        " defines it, by what the token decides."
    ),
    text: Path | None = option(
        "With --kld: read this text file instead of conversations, as llama-perplexity does, in chunks of"
        " --n-ctx tokens (512); --limit is then of chunks."
    ),
    save_all_logits: Path | None = option(
        "With --text: write BASE's log-probabilities to this new file, in llama-perplexity's format."
    ),
    kl_divergence_base: Path | None = option(
        "With --kld: compare all models with such a file, on the tokens in it, instead of with BASE."
    ),
    output: Path | None = option("Write every step and every choice to this JSON file."),
    as_json: bool = shared.JSON_LINES,
    **values: Any,
) -> int:
    """Rank files without generating, in a fraction of the time.

    rig gives each model the prompts of a run, each with the right call or reply already in place, and reads
    in one pass how likely the model finds that call under the grammar, whether it would make it with greedy
    decoding, and how far its choices are from those of BASE. Nothing is stored.
    """
    from rig.plugins.llama.files.caches import sha256_of
    from rig.plugins.screen.validity import check_stored, validity_of
    from rig.store import Runs

    options = {name: value for name, value in values.items() if value not in (None, (), False)}
    if models:
        options["models"] = models
    if output is not None and not output.absolute().parent.is_dir():
        raise RigError(f"--output {output}: no such folder")
    if text or save_all_logits or kl_divergence_base:
        if against or not kld:
            raise RigError(
                "--text, --save-all-logits and --kl-divergence-base are for --kld without --against"
            )
        read = _text(options, text, kl_divergence_base, save_all_logits)
        if output is not None:
            write(json_text(read.as_json(), indent=1) + "\n", output, force=True)
        if as_json:
            print_json(read.as_json())
        elif read.arms:
            say(corpus_text(read, terminal_width()))
        has_failed = say_failures((arm.arm, arm.failure) for arm in read.arms)
        return INTERRUPTED if read.is_interrupted else has_failed
    asked = _as_stored(runs, against, options) if against else as_asked(options)
    # Imported here, because the scorer takes a moment to load.
    from rig.plugins.screen.screening import screen

    screening = replace(screening_of(*asked), full=kld)
    if against:
        weights: list[tuple[object, ...]] = []
        for model in screening.models:
            adapter = model.adapter.as_json() if model.adapter else {}
            told_of = (adapter.get("adapter_sha256"), adapter.get("adapter_scale"))
            weights.append((sha256_of(model.path), *told_of))
        with Runs.open(runs) as stored:
            check_stored(weights, stored, against)
    screened = screen(screening, lambda text: say(text, err=True), progress())
    validity: list[Validity] = []
    told: JsonObject = {}
    if against:
        with Runs.open(runs) as stored:
            validity = validity_of(screened, stored, against)
        told = {"foretold": [arm.as_json() for arm in validity]}
    if output is not None:
        written = json_text({**screened.as_json(steps=True), **told}, indent=1)
        write(written + "\n", output, force=True)
    if as_json:
        print_json({**screened.as_json(), **told})
    else:
        say(screen_text(screened, validity, terminal_width()))
    has_failed = say_failures((arm.name, arm.failure) for arm in screened.arms)
    return INTERRUPTED if screened.is_interrupted else has_failed


def _text(options: JsonObject, text: Path | None, base_file: Path | None, save: Path | None) -> CorpusScreen:
    """Screen models on a plain text, or on the tokens of a file of log-probabilities."""
    from rig.plugins.screen.corpus import screen_corpus

    if bool(text) == bool(base_file) or (base_file and (save or "n_ctx" in options)):
        raise RigError("give either --text (and --save-all-logits, --n-ctx), or --kl-divergence-base alone")
    if len(options.get("models", ())) < (1 if base_file or save else 2):
        raise RigError("which models? Give the base first, then those to compare with it")
    request = replace(corpus_of(options, text), base_file=base_file, save=save)
    return screen_corpus(request, lambda line: say(line, err=True), progress("read", "chunk"))


def corpus_of(options: JsonObject, text: Path | None) -> Corpus:
    """Return the models and a text to read. Raises RigError for options that do not apply to a text."""
    from rig.plugins.llama.core.settings import EngineSettings
    from rig.plugins.llama.files.adapters import adapters_of
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.screen.corpus import Corpus

    for name in options:
        if name not in ("models", "lora", "limit") and TABLE[name].group != MACHINE:
            raise RigError(f"--{name.replace('_', '-')} has no effect on a text; leave it out")
    chosen = RunConfig.of(**options)
    adapters = adapters_of(chosen.lora)
    resolved = [arm for name in chosen.models for arm in resolve(name).with_adapters(adapters)]
    engine = EngineSettings.of(chosen.part(EngineOptions))
    engine = replace(engine, n_ctx=options.get("n_ctx"))
    return Corpus(tuple(resolved), engine, text, limit=options.get("limit"))


def as_asked(options: JsonObject, part: Part | None = None) -> tuple[RunConfig, Method, list[Task]]:
    """Return the options of the command line, the method, and the chosen conversations of a part."""
    from rig import methods

    if not options.get("models"):
        raise RigError(
            "which models? Give the one to compare with first, then the others (`rig models list`)"
        )
    require_one_suite(options)
    chosen = RunConfig.of(**options)
    method, tasks = methods.find_tasks(chosen.suite, chosen.conversations, chosen.method)
    return chosen, method, select(tasks, chosen.only, chosen.limit, chosen.without, part)


def _as_stored(
    store: Path, against: Sequence[str], options: JsonObject
) -> tuple[RunConfig, Method, list[Task]]:
    """Return the first run's settings and conversations; all arms must have been asked in the same way."""
    from rig import methods
    from rig.compare.arms import choose
    from rig.running.planning import require_opened, stored_config
    from rig.store import Runs

    if clash := [name for name in options if name not in _SELECTING]:
        name = clash[0].replace("_", "-")
        raise RigError(f"--{name} comes from the run of --against; leave it out")
    with Runs.open(store) as stored:
        arms = choose(stored, against)
        fingerprints = [arm.arm.fingerprint or {} for arm in arms]
        # The part of a fingerprint that says how a model is asked, not which model it is.
        asked = {
            json.dumps({key: of[key] for key in of if key.startswith("protocol.") or key in _VARIED.values()})
            for of in fingerprints
        }
        if len(asked) > 1:
            raise RigError(
                f"{', '.join(against)}: its arms were asked in different ways (such as --docs or --kv);"
                " name those to be screened as RUN/ARM"
            )
        run = arms[0].run
        tasks = stored.conversations(run)
        chosen = stored_config(run)
        method = methods.get(run.declaration.method)
        require_opened(run, chosen, method, {name for name, value in options.items() if value})
    # A fingerprint has engines and formats with their versions.
    first = fingerprints[0]
    varied: dict[str, Any] = {
        name: str(first[key]).split()[0] for name, key in _VARIED.items() if key in first
    }
    if "format" in varied:
        varied["format"] = varied["format"].rpartition("-")[0]
    # And of chat templates only hashes.
    template, *others = templates = chosen.values("chat_template")
    varied["chat_template"] = told_by(arms[0].arm.name, "chat_template", templates) if others else template
    models = options.get("models") or [name for name in chosen.models if name not in method.models(())]
    chosen = chosen.replace(models=models, **varied)
    return chosen, method, select(tasks, *map(options.get, ("only", "limit", "without"), ((), None, ())))


def screening_of(config: RunConfig, method: Method, tasks: list[Task]) -> Screening:
    """Return the screening to run. Raises RigError for models without weights."""
    from rig.plugins.llama.core.settings import EngineSettings
    from rig.plugins.llama.files.adapters import adapters_of
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import ResolvedModel, resolve
    from rig.plugins.screen.screening import Screening
    from rig.running.planning import first_values, method_arms

    for name in config.models:
        if name in method.models(()):
            raise RigError(f"{name} has no weights to be asked; screen GGUF files")
    models: list[ResolvedModel] = []
    for model in map(resolve, config.models):
        inspect(model.path)
        models += model.with_adapters(adapters_of(config.lora))
    settings = next(iter(method_arms(config, method).values())).settings
    values = first_values(config, method)
    if "similarity" in values:
        values["similarity"] = "exact"  # nothing is scored, so nobody has to judge free text
    engine = EngineSettings.of(config.part(EngineOptions))
    return Screening(tuple(models), method, tuple(tasks), method.ready(values), settings, engine)


def progress(doing: str = "screened", what: str = "conversation") -> Callable[[str, int, int], None]:
    """Return a callback for each model's progress: a line redrawn on a terminal, elsewhere one at the end."""

    def show(name: str, done: int, of: int) -> None:
        show_progress(name, what, done, of)
        if done == of and not sys.stderr.isatty():
            say(f"{name}: {counted(of, what)} {doing}", err=True)

    return show


_FEW_BEGUN = 0.5
"""Below this share of true calls that a model begins in its form, it may be one that leaks its calls."""

_KINDS = {
    "answer": "call or reply",
    "tool": "tool",
    "parameter": "parameters",
    "value": "values",
    "prose": "prose of replies",
    None: "all tokens",
}


def screen_text(screen: Screen, validity: Sequence[Validity] = (), width: int | None = None) -> str:
    """Return everything that is known of the models, and what could not be assessed.

    Models that do not fit into `width` cells follow below.
    """
    from rig.plugins.screen.validity import OUTCOMES, SIGNAL
    from rig.store.records import made_from

    lines = [line.rstrip() for line in columns(list(_rows(screen)), width)]
    count = len(screen.conversations)
    lines.append(
        f"\n{count} conversation{'s' * (count != 1)}; log-probabilities and divergences in nats;"
        f" against {screen.base.name}"
    )
    for arm in screen.arms:
        lines += [f"{arm.name}: {count} not assessed: {why}" for why, count in arm.faults.items()]
        lines += [
            f"{arm.name}: {remark}" for remark in (*arm.remarks, *filter(None, [made_from(arm.fingerprint)]))
        ]
        lines += [f"{arm.name} failed: {arm.failure}"] if arm.failure else []
    begun = {arm.name: arm.decides_to_call for arm in screen.arms}
    few = {name: share for name, share in begun.items() if share is not None and share < _FEW_BEGUN}
    if few:
        lines.append(
            f"calls begin in the model's own form in {percent(max(few.values()))} of true calls or less"
            f" ({', '.join(few)}); calls in another form are not seen here: see `rig doctor`, or play them"
        )
    if validity:
        lines.append(
            "\nhow well that predicts the stored run, turn by turn (AUC: 50% is chance, 100% is perfect)"
        )
        lines.append(f"  by the {SIGNAL}")
    for group in validity:
        measures = f"AUC {percent(group.auc)}, p {_number(group.p, 3)}, Spearman {_number(group.spearman, 2)}"
        outcome = f"{group.outcome} {group.with_outcome} of {group.turns} turns"
        lines.append(f"  {group.arm}: {outcome}; {measures}")
    lines += [f"  {name}: {meaning}" for name, meaning in OUTCOMES.items()] if validity else []
    return "\n".join(lines)


def _rows(screen: Screen) -> Iterator[Row]:
    from rig.plugins.screen.results import DECIDED, KINDS

    arms, base = screen.arms, screen.base

    def difference(arm: ArmScreen) -> str:
        less = None if arm is base else arm.less_than(base)
        return with_interval(lambda nats: f"{nats:+.3f}", less) if less else UNKNOWN

    whole: dict[str, Callable[[ArmScreen], str]] = {
        "": lambda arm: arm.name,
        "true calls": lambda arm: str(len(arm.calls())),
        "true replies": lambda arm: str(len(arm.replies())),
        "not assessed": lambda arm: str(sum(arm.faults.values())),
        "log-probability of a call": lambda arm: _number(arm.call_logprob, 2),
        "  more than the base (95%)": difference,
        "calls that greedy would make": lambda arm: percent(arm.greedy_calls),
        "would call where it should": lambda arm: percent(arm.decides_to_call),
        "would reply where it should": lambda arm: percent(arm.decides_to_reply),
    }
    for label, cell in whole.items():
        yield Row(label, list(map(cell, arms)))
    for title, figure in _FIGURES.items():
        yield Row(title, [""] * len(arms))
        for kind in KINDS:
            yield Row(f"  {_KINDS[kind]}", [figure(arm.kind(kind)) for arm in arms])
    divergences = {decides: [arm.divergence(decides) for arm in arms] for decides in (*DECIDED, None)}
    for title, number in _DIVERGENCE.items() if any(divergences[None]) else ():
        yield Row(title, [""] * len(arms))
        for decides, of_arms in divergences.items():
            yield Row(f"  {_KINDS[decides]}", [UNKNOWN if of is None else number(of) for of in of_arms])
    yield Row("time", [clock_time(arm.seconds) for arm in arms])


_FIGURES: dict[str, Callable[[KindFigures], str]] = {
    "true token is the likeliest": lambda of: percent(of.top1),
    "mean reciprocal rank": lambda of: _number(of.mrr, 3),
    "log-probability of a token": lambda of: _number(of.logprob, 3),
    "constrained KL from the base": lambda of: _number(of.constrained_kl, 4),
    "same likeliest allowed token as the base": lambda of: percent(of.same_top),
}
"""Figures over the tokens that the grammar allows."""

_DIVERGENCE: dict[str, Callable[[DivergenceFigures], str]] = {
    "KLD, D(base‖file) (95%)": lambda of: (
        with_interval(lambda nats: f"{nats:.4f}", of.kld_interval) if of.kld_interval else UNKNOWN
    ),
    "KLD, 99%": lambda of: f"{of.kld_percentiles['99']:.4f}",
    "RMS Δp": lambda of: percent(of.rms_dp.value),
    "same top p": lambda of: percent(of.same_top.value),
}
"""Figures over the whole vocabulary."""


def corpus_text(screen: CorpusScreen, width: int | None = None) -> str:
    """Return the lines of `llama-perplexity --kl-divergence`, with a column for each model."""
    cells = {arm.arm: _lines(arm.figures) for arm in screen.arms if arm.figures is not None}
    labels = next(iter(cells.values()), {})
    rows = [Row(label, [lines[label] for lines in cells.values()]) for label in labels]
    table = [line.rstrip() for line in columns([Row("", list(cells)), *rows], width)] if cells else []
    about = f"{counted(screen.chunks, 'chunk')} of {screen.n_ctx} tokens, {screen.tokens:,} of them compared"
    return "\n".join([*table, f"\n{about}; D({screen.base}‖file) in nats; ± takes tokens as independent"])


def _lines(of: DivergenceFigures) -> dict[str, str]:
    def number(measure: Measure, factor: int = 1, digits: int = 6) -> str:
        return f"{factor * measure.value:.{digits}f} ± {factor * (measure.error or 0):.{digits}f}"

    names = {"100": "Maximum", "50": "Median", "0": "Minimum"}
    return {
        "Mean PPL(Q)": number(of.ppl),
        "Mean PPL(base)": number(of.ppl_base),
        "Cor(ln(PPL(Q)), ln(PPL(base)))": percent(of.ln_ppl_correlation),
        "Mean ln(PPL(Q)/PPL(base))": number(of.ln_ppl_ratio),
        "Mean PPL(Q)/PPL(base)": number(of.ppl_ratio),
        "Mean PPL(Q)-PPL(base)": number(of.ppl_difference),
        "Mean KLD": number(of.kld),
        **{f"  {names.get(at, f'{at}%')} KLD": f"{value:.6f}" for at, value in of.kld_percentiles.items()},
        "Mean Δp, %": number(of.dp, 100, 3),
        **{
            f"  {names.get(at, f'{at}%')} Δp": f"{100 * value:.3f}" for at, value in of.dp_percentiles.items()
        },
        "RMS Δp, %": number(of.rms_dp, 100, 3),
        "Same top p, %": number(of.same_top, 100, 3),
    }


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"
