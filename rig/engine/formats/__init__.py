"""The forms in which models answer, by name."""

from rig import plugins
from rig.engine.formats.base import AnswerFormat
from rig.engine.formats.object import ObjectFormat
from rig.engine.formats.rig import RigFormat
from rig.errors import RigError


def register(registry: plugins.Registry) -> None:
    """Offer rig's own forms (`rig.plugins`)."""
    registry.add_format(RigFormat)
    registry.add_format(ObjectFormat)


def format_named(name: str) -> type[AnswerFormat]:
    """The format of that name. Raises RigError, which says what others there are."""
    known: dict[str, type[AnswerFormat]] = plugins.registered().formats
    if name not in known:
        raise RigError(f"--format {name}: there is none; there are {', '.join(known)}")
    return known[name]
