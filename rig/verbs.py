"""The verbs of the tenants that come with rig: a click command each, imported when it is used."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.plugins`)."""
    for group, verbs in _VERBS.items():
        for name, (place, does) in verbs.items():
            registry.verbs.later(
                name, f"{place}command" if place[-1] == ":" else place, does=does, group=group
            )


_VERBS = {
    "Play": {
        "screen": ("rig.cli.screen:", "Rank files without generating, in a fraction of the time."),
    },
    "Results": {
        "gate": ("rig.cli.gate:", "Pass or fail a pipeline by a policy of conditions."),
        "card": ("rig.cli.card:", "Make a card of a model file that others can verify."),
        "score": ("rig.cli.score:", "Score stored predictions again, without a model."),
        "adjudicate": ("rig.cli.score:adjudicate", "Decide on texts that rig cannot judge by itself."),
        "judge": ("rig.cli.judge:", "Let a model judge whole answers."),
        "export": ("rig.cli.exchange:export", "Export a run as rows, or as files for other tools."),
        "import": ("rig.cli.exchange:import_", "Import runs of another store, or results of another tool."),
    },
    "Models, tools and conversations": {
        "models": (
            "rig.cli.models:",
            "List, inspect, fetch, verify, quantize, merge and tune models.",
        ),
        "author": ("rig.cli.author:", "Make suites of conversations from scenes."),
        "world": ("rig.cli.doctor:world", "Build or check the mock world."),
    },
    "This machine": {
        "bundle": ("rig.cli.bundle:", "Pack everything rig needs into one file for another machine."),
        "docs": ("rig.cli.bundle:docs", "Open the documentation; it needs no network."),
        "doctor": ("rig.cli.doctor:", "Check that everything a run needs is in place."),
        "bench": ("rig.cli.bench:", "Measure the engine; needs a checkout of rig."),
    },
}
"""Where each verb is and what it does, by the group that help lists it in."""
