"""Where the files that ship with rig are, and where a user's own models and runs go.

In a checkout, the conversations, the world and the registry are at the top of the repository; in an installed
wheel, the same files are under `rig/data`.
"""

import os
from pathlib import Path

from platformdirs import user_cache_path, user_config_path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent
_IN_CHECKOUT = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "conversations").is_dir()
_SHIPPED = _CHECKOUT if _IN_CHECKOUT else _PACKAGE / "data"

CHECKOUT = _CHECKOUT if _IN_CHECKOUT else None
"""The repository that this rig runs from; None for an installed one."""

CONVERSATIONS = _SHIPPED / "conversations"
DOCUMENTATION = _SHIPPED / "site"
WORLD_DATABASE = _SHIPPED / "tools_db.sqlite"
WORLD_SEED = _PACKAGE / "plugins" / "tooltalk_tools" / "seed"
CONFIG = "rig.toml"
DEMO = _PACKAGE / "plugins" / "replay" / "demo.sqlite.xz"
"""A recorded run."""
REGISTRY = _SHIPPED / "models" / "registry.toml"


def expanded(text: str) -> Path:
    """Return a path with `~` replaced by the home folder; an unknown user's `~name` stays."""
    return Path(os.path.expanduser(text))


def real(path: Path) -> Path:
    """Return the path with links resolved; links that form a circle are followed only partly."""
    return Path(os.path.realpath(path))


def models_directory() -> Path:
    """Return the folder of GGUF files: `$RIG_MODELS`, else the checkout's `models/`, else `./models`."""
    chosen = os.environ.get("RIG_MODELS")
    return expanded(chosen) if chosen else (CHECKOUT or Path()) / "models"


def runs_file() -> Path:
    """Return the path of the run store: `$RIG_RUNS`, else `./runs.sqlite`."""
    return expanded(os.environ.get("RIG_RUNS", "runs.sqlite"))


def cache_directory() -> Path:
    """Return the folder for what can be computed again: `$RIG_CACHE`, or the user's. It may be read-only."""
    chosen = os.environ.get("RIG_CACHE")
    return expanded(chosen) if chosen else user_cache_path("rig")


def config_files() -> tuple[Path, Path]:
    """Return the files of settings: the user's (`$RIG_CONFIG`, else `rig.toml` in the user's config
    folder), and `./rig.toml`, which takes precedence.
    """
    chosen = os.environ.get("RIG_CONFIG")
    user = expanded(chosen) if chosen else user_config_path("rig") / CONFIG
    return user, Path(CONFIG)
