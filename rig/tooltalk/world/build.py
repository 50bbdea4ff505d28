"""Making the world file that ships with rig."""

import sqlite3
import struct
from pathlib import Path

from rig.errors import RigError
from rig.files import put_in_place, temporary_path
from rig.paths import WORLD_DATABASE, WORLD_SEED
from rig.tooltalk.world.world import World

_CHANGE_COUNTER = 24
_VERSION_VALID_FOR = 92
_LIBRARY_VERSION = 96


def build_world(seed: Path = WORLD_SEED, target: Path = WORLD_DATABASE) -> None:
    """Write the world file made from a directory of JSON files, the same bytes every time.

    Another version of SQLite makes a file of equal content; its version stands in the header, as in every
    SQLite file. Raises RigError on bad seeds, or when the target cannot be written, which then is as it was.
    """
    image = bytearray(World.from_json_directory(seed).snapshot().image)
    major, minor, patch = sqlite3.sqlite_version_info
    library = major * 1_000_000 + minor * 1_000 + patch
    # An image of memory leaves these fields to chance.
    for offset, value in ((_CHANGE_COUNTER, 1), (_VERSION_VALID_FOR, 1), (_LIBRARY_VERSION, library)):
        struct.pack_into(">I", image, offset, value)
    part = temporary_path(target.parent, target.name)
    try:
        part.write_bytes(image)
        part.chmod(0o644)
        put_in_place(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RigError(f"{target}: cannot be written: {error.strerror}") from error
