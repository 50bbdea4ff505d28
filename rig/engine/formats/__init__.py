"""The forms in which models answer, by name."""

from collections.abc import Mapping

from rig import plugins
from rig.engine.formats.base import AnswerFormat
from rig.errors import RigError


def format_named(name: str) -> type[AnswerFormat]:
    """The format of that name. Raises RigError, which says what others there are."""
    known: Mapping[str, type[AnswerFormat]] = plugins.registered().formats
    if name not in known:
        raise RigError(f"--format {name}: there is none; there are {', '.join(known)}")
    return known[name]
