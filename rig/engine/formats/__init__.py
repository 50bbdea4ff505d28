"""The forms in which models answer, by name."""

from rig.engine.formats.base import AnswerFormat
from rig.engine.formats.rig import RigFormat
from rig.errors import RigError

FORMATS: dict[str, type[AnswerFormat]] = {RigFormat.name: RigFormat}


def format_named(name: str) -> type[AnswerFormat]:
    """The format of that name. Raises RigError, which says what others there are."""
    try:
        return FORMATS[name]
    except KeyError:
        raise RigError(f"--format {name}: there is none; there are {', '.join(FORMATS)}") from None
