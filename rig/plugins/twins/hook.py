"""The comparison of served arms with their files, as a hook after an arm."""

from functools import partial

from rig.config.schemes import NO_WEIGHTS
from rig.core.calls import JsonObject
from rig.plugins import served
from rig.running.hooks import EndedArm
from rig.running.plan import Plan


def reference_of(plan: Plan, position: int) -> int | None:
    """Return the file that a served arm is compared with: the nearest earlier one with the same settings."""
    arm = plan.arms[position]
    if not (isinstance(arm.load, partial) and arm.load.func is served.load):
        return None
    alike = [
        n
        for n, other in enumerate(plan.arms[:position])
        if other.weights is not NO_WEIGHTS and other.settings == arm.settings
    ]
    return alike[-1] if alike else None


class Attribution:
    """Finds out why a served arm answered differently from its file."""

    name = "attribution"

    def after(self, arm: EndedArm) -> JsonObject | None:
        reference = reference_of(arm.plan, arm.position)
        # A strategy stops arms by their results, so these have not played the same.
        if reference is None or arm.plan.schedule is not None:
            return None
        from rig.plugins.twins.comparison import TwinComparison
        from rig.plugins.twins.notes import as_note

        arm.state.read()
        comparison = TwinComparison(arm.state, arm.position, reference)
        try:
            return as_note(comparison.attributed(arm.load(arm.position), partial(arm.load, reference)))
        finally:
            arm.drop(reference)  # what asks it apart from steps owns it for good


ATTRIBUTION = Attribution()
