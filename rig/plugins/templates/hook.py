"""Which prompts differ between arms whose chat templates, or variables of them, do: a hook after an arm."""

from rig.config.schemes import NO_WEIGHTS
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core.options import EngineOptions
from rig.running.hooks import EndedArm
from rig.running.plan import Plan

_MOST = 4
"""The most conversations, and the most differences, that are named."""


def reference_of(plan: Plan, position: int) -> int | None:
    """Return the first arm that differs from an arm in nothing but its chat template and what is set of it.

    None if none does.
    """
    arm = plan.arms[position]
    if arm.weights is NO_WEIGHTS or plan.place is not None:
        return None

    def without(number: int) -> tuple[object, ...]:
        other = plan.arms[number]
        alike = other.config.replace(chat_template=None, template_set=None)
        return other.weights, other.adapt, other.settings, alike

    first = next(number for number in range(position + 1) if without(number) == without(position))
    own, theirs = (one.config.part(EngineOptions) for one in (arm, plan.arms[first]))
    differ = (own.chat_template, own.template_set) != (theirs.chat_template, theirs.template_set)
    return first if differ else None


class TemplateNote:
    """Notes on an arm which prompts its chat template makes otherwise than that of the first arm like it.

    It reads the templates that the run's own arms are loaded with, and no other file.
    """

    name = "templates"

    def after(self, arm: EndedArm) -> JsonObject | None:
        number = reference_of(arm.plan, arm.position)
        if number is None:
            return None
        # Imported here, because templates and their forms take a moment to load.
        from rig.plugins.llama.engine import LlamaCppModel
        from rig.plugins.templates.comparison import by_jinja, differences, meaning, prompts
        from rig.plugins.templates.sources import template_like
        from rig.plugins.templates.talks import TALKS

        model = arm.load(arm.position)
        assert isinstance(model, LlamaCppModel)
        reference = arm.plan.arms[number]
        try:
            theirs = template_like(model, reference.config.part(EngineOptions))
        except RigError as error:
            why = f"its chat template could not be compared with {reference.name}'s: {error}"
            return {"text": why, "lines": []}
        first, second = (prompts(by_jinja(template)) for template in (theirs, model.template))
        changes = differences(first, second)
        if not changes:
            same = f"its chat template makes the same prompts as {reference.name}'s of all {len(TALKS)}"
            return {"text": f"{same} conversations that were tried", "lines": [], "differ": []}
        names = [difference.talk for difference in changes]
        means = meaning(theirs, first, model.template, second)
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        text = (
            f"its chat template makes other prompts than {reference.name}'s of {len(names)} of {len(TALKS)}"
            f" conversations that were tried ({', '.join(names[:_MOST])}{more})"
        )
        lines = [f"what differs: {', '.join(means)}; `rig models templates` shows it"] if means else []
        if "thoughts" in means:
            lines.append("thoughts: {1}, not {0}".format(*means["thoughts"]))
        if all(averages := [_tokens(arm, place) for place in (number, arm.position)]):
            lines.append("a step's prompt had {1:,.0f} tokens on average, not {0:,.0f}".format(*averages))
        return {
            "text": text,
            "lines": lines,
            "differ": names,
            "means": {name: list(pair) for name, pair in means.items()},
        }


def _tokens(arm: EndedArm, number: int) -> float:
    """Return the mean length of the prompts of an arm's steps, in tokens; 0 if it made none."""
    speed = arm.state.totals(number).speed
    return speed.prompt_tokens / speed.steps if speed.steps else 0.0


TEMPLATES = TemplateNote()
