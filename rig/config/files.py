"""`rig.toml`: defaults that people keep in a file. What they mean is known where the options are declared."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.core.errors import RigError, meant
from rig.core.files import read_toml
from rig.core.paths import config_files, expanded

PLACES = {"runs": "RIG_RUNS", "models": "RIG_MODELS", "cache": "RIG_CACHE", "plugins": "RIG_PLUGINS"}
"""Keys of the table `places`: files and folders, with the environment variables that override them."""

AT = "places"

KEYS = "keys"
"""The table that sets the keys of the live views."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and the file that it comes from. `path` leads to it: the tables, and the key."""

    path: tuple[str, ...]
    value: Any
    file: Path
    is_users: bool

    @property
    def name(self) -> str:
        """The path as text, as in `run.temperature`."""
        return ".".join(self.path)

    def fault(self, text: str) -> RigError:
        """Return an error of one line that names the file and the setting."""
        return RigError(f"{self.file}: {self.name} {text}")

    def not_of_folders(self) -> RigError:
        """Return an error that says that only the user's own file sets this."""
        return self.fault(
            "is only read from your own file (`rig config` names it): a folder's file sets suites, limits,"
            " sampling and names"
        )

    def unknown(self, choices: Iterable[str], what: str) -> RigError:
        """Return an error that says that the last part of the path is not a known name."""
        article = "an" if what[0] in "aeiou" else "a"
        return self.fault(f"is not {article} {what}{meant(self.path[-1], choices)}")


def read_settings() -> dict[tuple[str, ...], Setting]:
    """Return every setting by its path. Settings of the working folder replace the user's.

    Raises RigError for a file that cannot be read, or is not TOML.
    """
    settings: dict[tuple[str, ...], Setting] = {}
    for file, is_users in zip(config_files(), (True, False), strict=True):
        if file.exists():
            values = read_toml(file)
            settings |= {setting.path: setting for setting in _flat(values, (), file, is_users)}
    return settings


def _flat(values: Mapping[str, Any], path: tuple[str, ...], file: Path, is_users: bool) -> Iterator[Setting]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, (*path, name), file, is_users)
        else:
            yield Setting((*path, name), value, file, is_users)


def set_places(settings: Mapping[tuple[str, ...], Setting]) -> None:
    """Put the files and folders into the environment, so that processes that rig starts find them, too.

    A relative path is relative to the file's folder. Raises RigError for a value that cannot be a path.
    """
    for name, variable in PLACES.items():
        setting = settings.get((AT, name))
        if setting is None:
            continue
        if not isinstance(setting.value, str) or not setting.value or "\0" in setting.value:
            raise setting.fault("needs a path in quotes")
        place = setting.file.parent / expanded(setting.value)
        os.environ.setdefault(variable, str(place))


def set_own_places() -> None:
    """Put the files and folders that the user's own file names into the environment, as `set_places` does.

    The file of a folder names none: it could run code.
    """
    set_places({path: setting for path, setting in read_settings().items() if setting.is_users})


def own_keys() -> dict[str, str]:
    """Return the keys that the user gives to actions of the live views, by action. Raises RigError."""
    keys: dict[str, str] = {}
    for path, setting in read_settings().items():
        if path[0] == KEYS:
            if len(path) != 2 or not isinstance(setting.value, str) or not setting.value.strip():
                raise setting.fault('needs a key in quotes, such as "p" or "ctrl+p"')
            keys[path[1]] = setting.value
    return keys
