"""Whether divergence predicts lost calls, over files that were screened and played on the same conversations.

    .venv/bin/python benchmarks/comparing/bridge.py runs.sqlite wide=wide.json narrow=narrow.json [--write]

Each RUN is of a base and files made of it, each JSON what `rig screen --kld --output` wrote of the same.
Prints the tables; with --write puts them into docs/lab/divergence.md.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import rig  # noqa: E402
from benchmarks.published import publish  # noqa: E402
from rig.core.calls import JsonObject  # noqa: E402
from rig.plugins.screen.results import DECIDED  # noqa: E402

RESAMPLES = 500
CONSTRAINED, LESS_LIKELY, LESS_GREEDY = (
    "constrained KL",
    "log-probability of calls",
    "calls that greedy makes",
)
SIGNALS = (*DECIDED, "all tokens", CONSTRAINED, LESS_LIKELY, LESS_GREEDY)
SHOWN = {"answer": "call or reply", "parameter": "parameter's name", "value": "argument's value"}
MEASURES = (
    "files ranked",
    "files ranked by other conversations",
    "error, a file left out",
    "error, a model left out",
    "conversations within a file",
)

Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """Files held against their bases, by file and conversation.

    `lost` are calls that the base got right, less those that the file did; `fails` is the same of whole
    conversations. `sums` and `counts` are signals × files × conversations, `model` is a number for each file.
    """

    names: list[str]
    model: NDArray[np.int_]
    lost: Array
    wanted: Array
    fails: Array
    sums: Array
    counts: Array

    def signal(self, chosen: NDArray[np.int_]) -> Array:
        """Signals × files: the means over these conversations."""
        return self.sums[:, :, chosen].sum(axis=2) / np.maximum(self.counts[:, :, chosen].sum(axis=2), 1)

    def loss(self, chosen: NDArray[np.int_]) -> Array:
        """By file: calls lost, of those wanted."""
        return self.lost[:, chosen].sum(axis=1) / self.wanted[chosen].sum()


def signals(steps: list[JsonObject], base: list[JsonObject], conversations: list[str]) -> tuple[Array, Array]:
    """Sums and counts of every signal, by conversation."""
    place = {name: number for number, name in enumerate(conversations)}
    sums, counts = np.zeros((2, len(SIGNALS), len(conversations)))

    def add(signal: str, at: int, value: float) -> None:
        sums[SIGNALS.index(signal), at] += value
        counts[SIGNALS.index(signal), at] += 1

    for step, same in zip(steps, base, strict=True):
        assert (step["conversation"], step["turn"], step["step"]) == (
            same["conversation"], same["turn"], same["step"],
        )  # fmt: skip
        at = place[step["conversation"]]
        for token in step.get("tokens", ()):
            add(token["decides"], at, token["kld"])
            add("all tokens", at, token["kld"])
        for choice in step["choices"]:
            if choice["constrained_kl"] is not None:
                add(CONSTRAINED, at, choice["constrained_kl"])
        if step["answer"] == "call" and step["fault"] is None and same["fault"] is None:
            add(LESS_LIKELY, at, same["logprob"] - step["logprob"])
            add(LESS_GREEDY, at, float(same["greedy"]) - float(step["greedy"]))
    return sums, counts


def read(store: Path, given: list[str]) -> Pairs:
    """The runs and their screens. Exits where they are not of the same conversations."""
    names, model, rows, wanted, unclear = [], [], [], np.empty(0), 0
    conversations: list[str] = []
    for number, (run_name, path) in enumerate(pair.split("=", 1) for pair in given):
        run = rig.open(store).run(run_name)
        screens = {arm["arm"]: arm["steps"] for arm in json.loads(Path(path).read_text())["arms"]}
        scores = {arm.arm: {score.conversation: score for score in arm.scores} for arm in run.arms}
        base, *files = [arm.arm for arm in run.arms]
        conversations = conversations or sorted(scores[base])
        if any(sorted(played) != conversations for played in scores.values()):
            sys.exit(f"{run_name}: not all arms have played the same conversations")
        counts = {
            name: [scores[name][conversation].counts for conversation in conversations] for name in scores
        }
        unclear += sum(round(count.get("unclear", 0)) for played in counts.values() for count in played)
        wanted = np.array([count["ground_truths"] for count in counts[base]], dtype=float)
        right = {name: np.array([count["matches"] for count in counts[name]], dtype=float) for name in counts}
        won = {
            name: np.array([scores[name][c].success for c in conversations], dtype=float) for name in counts
        }
        for name in files:
            names.append(name)
            model.append(number)
            figures = signals(screens[name], screens[base], conversations)
            rows.append((right[base] - right[name], won[base] - won[name], *figures))
    print(
        f"{len(names)} files, {len(conversations)} conversations, {wanted.sum():.0f} calls wanted,"
        f" {unclear} unclear texts"
    )
    lost, fails, sums, counts = zip(*rows, strict=True)
    stacked = (np.stack(part, axis=1) for part in (sums, counts))
    return Pairs(names, np.array(model), np.array(lost), wanted, np.array(fails), *stacked)


def spearman(first: Array, second: Array) -> float:
    """The rank correlation."""
    return float(scipy.stats.spearmanr(first, second).statistic)


def error_left_out(signal: Array, loss: Array, groups: NDArray[np.int_]) -> float:
    """The mean absolute error where each group's files are predicted from the others.

    The loss is taken for proportional to the root of the signal.
    """
    roots = np.sqrt(np.maximum(signal, 0))
    errors = []
    for group in np.unique(groups):
        out = groups == group
        slope = (roots[~out] @ loss[~out]) / max(float(roots[~out] @ roots[~out]), 1e-12)
        errors += list(np.abs(loss[out] - slope * roots[out]))
    return float(np.mean(errors))


def within(pairs: Pairs, signal: int, chosen: NDArray[np.int_]) -> float:
    """The area under the ROC curve: a file's conversations with a lost call against its others."""
    area, weight = 0.0, 0.0
    values = pairs.sums[signal] / np.maximum(pairs.counts[signal], 1)
    for file in range(len(pairs.names)):
        has_lost = pairs.lost[file, chosen] > 0
        first, second = values[file, chosen][has_lost], values[file, chosen][~has_lost]
        if len(first) and len(second):
            area += float(scipy.stats.mannwhitneyu(first, second, method="asymptotic").statistic)
            weight += len(first) * len(second)
    return area / weight if weight else float("nan")


def interval(measure: Callable[[NDArray[np.int_]], float], conversations: int) -> str:
    """The measure over all conversations, with a 95% interval by bootstrap over them."""
    random = np.random.default_rng(0)
    draws = [measure(random.integers(0, conversations, conversations)) for _ in range(RESAMPLES)]
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return f"{measure(np.arange(conversations)):.2f} ({low:.2f} to {high:.2f})"


def halves(pairs: Pairs, signal: int) -> str:
    """Rank correlation of the signal on a random half of the conversations with the loss on the other."""
    random, size = np.random.default_rng(1), len(pairs.wanted)
    correlations = []
    for _ in range(RESAMPLES // 4):
        order = random.permutation(size)
        first, second = order[: size // 2], order[size // 2 :]
        correlations.append(spearman(pairs.signal(first)[signal], pairs.loss(second)))
    low, middle, high = np.quantile(correlations, [0.025, 0.5, 0.975])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def tables(pairs: Pairs) -> Iterator[str]:
    """Markdown: the files, then what each signal predicts."""
    everything, size = np.arange(len(pairs.wanted)), len(pairs.wanted)
    values, loss = pairs.signal(everything), pairs.loss(everything)
    splits = range(len(DECIDED) + 1)
    heads = ("calls lost", "conversations lost", *(SHOWN.get(SIGNALS[s], SIGNALS[s]) for s in splits))
    yield f"| | {' | '.join(heads)} |"
    yield "| --- |" + " ---: |" * len(heads)
    for file, name in enumerate(pairs.names):
        cells = " | ".join(f"{values[s, file]:.4f}" for s in splits)
        yield f"| {name} | {loss[file]:+.1%} | {pairs.fails[file].mean():+.1%} | {cells} |"
    yield ""
    yield f"| | {' | '.join(MEASURES)} |"
    yield "| --- |" + " ---: |" * len(MEASURES)
    alone, models = np.arange(len(pairs.names)), pairs.model
    for number, name in enumerate(SIGNALS):

        def ranked(chosen: NDArray[np.int_], s: int = number) -> float:
            return spearman(pairs.signal(chosen)[s], pairs.loss(chosen))

        def left_out(groups: NDArray[np.int_], s: int = number) -> str:
            return interval(lambda c: 100 * error_left_out(pairs.signal(c)[s], pairs.loss(c), groups), size)

        area = interval(lambda c, s=number: within(pairs, s, c), size)
        cells = (interval(ranked, size), halves(pairs, number), left_out(alone), left_out(models), area)
        yield f"| {SHOWN.get(name, name)} | {' | '.join(cells)} |"

    def by_mean(groups: NDArray[np.int_]) -> str:
        def error(chosen: NDArray[np.int_]) -> float:
            lost = pairs.loss(chosen)
            return 100 * float(np.mean([abs(lost[f] - lost[groups != groups[f]].mean()) for f in alone]))

        return interval(error, size)

    yield f"| the mean of the other files | | | {by_mean(alone)} | {by_mean(models)} | |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("pairs", nargs="+", metavar="RUN=SCREEN.json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "\n".join(tables(read(options.store, options.pairs)))
    print(text)
    if options.write:
        publish("lab/divergence.md", "bridge", text)


if __name__ == "__main__":
    main()
