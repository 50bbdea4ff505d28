"""A toy preset: the form of a family whose templates declare tools and show no calls."""

from rig.engine.formats.shape import CallShape, Preset
from rig.engine.grammar.language import JSON
from rig.plugins import Registry

SHAPE = CallShape(
    open="<toy>",
    after_name=" with ",
    arguments=JSON,
    close="</toy>",
    between="</toy><toy>",
    trigger="<toy>",
)


def register(registry: Registry) -> None:
    registry.add_preset(Preset("toy", SHAPE, marks=(("A toy may call",),)))
