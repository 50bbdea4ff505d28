"""The tables of AutoDE's paper from recorded results: the figures that docs/autode.md speaks of.

    python benchmarks/autode/tables.py CHECKOUT

CHECKOUT is one of github.com/hlmu/AutoDE. Of the 20 recorded files those are scored that it has.
"""

import sys
from math import isnan
from pathlib import Path
from statistics import fmean

import numpy as np

from rig.methods.autode.data import checkout
from rig.methods.autode.data.scenarios import Scenario
from rig.methods.autode.recorded import records as recorded
from rig.methods.autode.recorded.records import Record
from rig.methods.autode.scoring import slots
from rig.methods.autode.scoring.agreement import agreement, icc3, mean_f1, pearson
from rig.rates import Vector

METHODS = ("GPT-3.5", "Llama-2-7B", "static", "human")
FILES = {
    "GPT-3.5": (
        "u_gpt35_a_gpt35_v2",
        "u_llama7b_a_gpt35_complementary",
        "a_gpt35_static_v2",
        "u_human_a_gpt35_complementary",
    ),
    "Claude": (
        "u_gpt35_a_claude_instant_1_2",
        "u_llama7b_a_claude_instant_1_2_complementary",
        "a_claude_instant_1_2_static",
        "a_claude_instant_1_2_human",
    ),
    "Code Llama": (
        "u_gpt35_a_codellama13b_oasst_5rounds",
        "u_llama7b_a_codellama13b_oasst_5rounds",
        "a_codellama13b_oasst_static_force_5rounds",
        "a_codellama13b_oasst_human_good_complementary",
    ),
    "Zephyr": (
        "u_gpt35_a_zephyr_7b_alpha_5rounds",
        "u_llama7b_a_zephyr_7b_alpha_5rounds",
        "a_zephyr_7b_alpha_substitute_static_5rounds",
        "a_zephyr_7b_alpha_human_1round_complementary",
    ),
    "Llama 70B": (
        "u_gpt35_a_llama70b_5rounds",
        "u_llama7b_a_llama70b_5rounds",
        "a_llama70b_static_force_5rounds",
        "a_llama70b_human",
    ),
}
"""The recorded file of each assistant with each method, as the paper has them."""

Trials = list[list[Record]]


def main() -> None:
    place = Path(sys.argv[1])
    scenarios = {each.id: each for each in checkout.load(place)}
    cells: dict[tuple[str, str], Trials] = {}
    for assistant, files in FILES.items():
        for method, file in zip(METHODS, files, strict=True):
            path = place / "results" / f"{file}.jsonl"
            if path.is_file():
                cells[assistant, method] = recorded.read(path).trials(list(scenarios))
    print_scores(cells, scenarios)
    print_agreement(cells, scenarios)


def print_scores(cells: dict[tuple[str, str], Trials], scenarios: dict[str, Scenario]) -> None:
    """Table 1, an interval over dialogues, and what upstream's analyses count."""
    print("| assistant | user | P | R | F1 | ± | F1 over dialogues", end="")
    print(" | reluctant | illusory | malformed | gave up | length |\n| --- | --- |" + " ---: |" * 10)
    truths = {name: each.slots for name, each in scenarios.items()}
    for (assistant, method), trials in cells.items():
        figures = recorded.score(trials, truths)
        interval = mean_f1(dialogues(trials, scenarios))
        acted = recorded.behaviour([record for trial in trials for record in trial], scenarios)
        rates = " | ".join(f"{100 * rate:.2f}" for rate in figures[:3])
        spread = "" if isnan(figures.spread) else f"{100 * figures.spread:.2f}"
        within = f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
        counts = f"{acted.reluctant} | {acted.illusory} | {acted.malformed} | {acted.gave_up}"
        print(f"| {assistant} | {method} | {rates} | {spread} | {within} | {counts} | {acted.length:.3f} |")


def print_agreement(cells: dict[tuple[str, str], Trials], scenarios: dict[str, Scenario]) -> None:
    """Table 2 over the assistants that have both cells, and the agreement dialogue by dialogue."""
    print("\n| user | assistants | ICC3 | R | R over dialogues, by assistant |")
    print("| --- | ---: | --- | --- | --- |")
    for method in METHODS[:-1]:
        both = [name for name in FILES if (name, method) in cells and (name, "human") in cells]
        ours = [dialogues(cells[name, method], scenarios) for name in both]
        human = [dialogues(cells[name, "human"], scenarios) for name in both]
        each = ", ".join(
            f"{name} {pearson(*pair):.2f}" for name, *pair in zip(both, human, ours, strict=True)
        )
        found = ["", ""]
        if len(both) > 2:
            measured = (agreement(human, ours, measure) for measure in (icc3, pearson))
            found = [f"{value:.4f} ({low:.2f} to {high:.2f})" for value, low, high in measured]
        print(f"| {method} | {len(both)} | {found[0]} | {found[1]} | {each} |")


def dialogues(trials: Trials, scenarios: dict[str, Scenario]) -> Vector:
    """The F1 of each dialogue, a mean over the trials."""
    each = zip(*trials, strict=True)
    return np.array(
        [fmean(slots.count(scenarios[one.id].slots, one.slots).f1 for one in again) for again in each]
    )


if __name__ == "__main__":
    main()
