"""The verbs of the tenants that come with rig: a click command each, imported when it is used."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.plugins`)."""
    for group, verbs in _VERBS.items():
        for name, (place, does) in verbs.items():
            registry.verbs.later(
                name, f"{place}command" if place[-1] == ":" else place, does=does, group=group
            )


_VERBS = {
    "Play": {
        "screen": ("rig.plugins.screen.verb:", "Rank files without generating, in a fraction of the time."),
    },
    "Results": {
        "gate": ("rig.plugins.exports.gate_verb:", "Pass or fail a pipeline by a policy of conditions."),
        "card": ("rig.plugins.report.card_verb:", "Make a card of a model file that others can verify."),
        "score": ("rig.plugins.rescore.verb:", "Score stored predictions again, without a model."),
        "adjudicate": ("rig.plugins.rescore.verb:adjudicate", "Decide on texts that rig cannot judge by itself."),
        "judge": ("rig.plugins.judging.verb:", "Let a model judge whole answers."),
        "export": ("rig.plugins.exports.verbs:export", "Export a run as rows, or as files for other tools."),
        "import": ("rig.plugins.exports.verbs:import_", "Import runs of another store, or results of another tool."),
    },
    "Models, tools and conversations": {
        "models": (
            "rig.plugins.llama.verbs.models:",
            "List, inspect, fetch, verify, quantize, merge and tune models.",
        ),
        "author": ("rig.plugins.author.verb:", "Make suites of conversations from scenes."),
        "world": ("rig.plugins.doctor.verb:world", "Build or check the mock world."),
    },
    "This machine": {
        "bundle": ("rig.plugins.bundle.verb:", "Pack everything rig needs into one file for another machine."),
        "docs": ("rig.plugins.bundle.verb:docs", "Open the documentation; it needs no network."),
        "doctor": ("rig.plugins.doctor.verb:", "Check that everything a run needs is in place."),
        "bench": ("rig.plugins.llama.verbs.bench:", "Measure the engine; needs a checkout of rig."),
    },
}
"""Where each verb is and what it does, by the group that help lists it in."""
