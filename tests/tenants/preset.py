"""A toy preset: the form of a family whose templates declare tools and show no calls."""

from rig.core.registry import Registry
from rig.plugins.llama.formats.shape import CallShape, Preset
from rig.plugins.llama.grammar.language import JSON

SHAPE = CallShape(
    open="<toy>",
    after_name=" with ",
    arguments=JSON,
    close="</toy>",
    between="</toy><toy>",
    trigger="<toy>",
)


def register(registry: Registry) -> None:
    registry.presets.add(Preset("toy", SHAPE, marks=(("A toy may call",),)))
