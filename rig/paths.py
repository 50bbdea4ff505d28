"""Where the files that ship with rig are, and where a user's own models and runs go.

In a checkout, the conversations, the world and the registry are at the top of the repository; in an installed
wheel, the same files are under `rig/data`.
"""

import os
from pathlib import Path

from platformdirs import user_cache_path, user_config_path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_IN_CHECKOUT = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "conversations").is_dir()
_SHIPPED = _CHECKOUT if _IN_CHECKOUT else _PACKAGE / "data"

CHECKOUT = _CHECKOUT if _IN_CHECKOUT else None
"""The repository that this rig runs from; None for an installed one."""

CONVERSATIONS = _SHIPPED / "conversations"
DOCUMENTATION = _SHIPPED / "site"
WORLD_DATABASE = _SHIPPED / "tools_db.sqlite"
WORLD_SEED = _PACKAGE / "tooltalk" / "seed"
CONFIG = "rig.toml"
DEMO = _PACKAGE / "replay" / "demo.sqlite.xz"
"""A recorded run."""
REGISTRY = _SHIPPED / "models" / "registry.toml"


def expanded(text: str) -> Path:
    """A path as somebody wrote it, with a home for its `~`. Where nobody of that name has one, it stays."""
    return Path(os.path.expanduser(text))


def real(path: Path) -> Path:
    """The path without links; of links that lead in a circle, as far as they can be followed."""
    return Path(os.path.realpath(path))


def models_directory() -> Path:
    """Where GGUF files are kept: `$RIG_MODELS`, else the checkout's `models/`, else `./models`."""
    chosen = os.environ.get("RIG_MODELS")
    return expanded(chosen) if chosen else (CHECKOUT or Path()) / "models"


def runs_file() -> Path:
    """The run store: `$RIG_RUNS`, else `./runs.sqlite`."""
    return expanded(os.environ.get("RIG_RUNS", "runs.sqlite"))


def cache_directory() -> Path:
    """What can be computed again: `$RIG_CACHE`, else the user's cache folder. It may not be writable."""
    chosen = os.environ.get("RIG_CACHE")
    return expanded(chosen) if chosen else user_cache_path("rig")


def config_files() -> tuple[Path, Path]:
    """Where settings are read from: the user's file (`$RIG_CONFIG`, else `rig.toml` in the user's config
    folder), and `./rig.toml`, which counts for more.
    """
    chosen = os.environ.get("RIG_CONFIG")
    user = expanded(chosen) if chosen else user_config_path("rig") / CONFIG
    return user, Path(CONFIG)
