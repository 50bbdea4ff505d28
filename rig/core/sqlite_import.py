"""sqlite-utils, by which rig reads and writes its tables, loaded without numpy and pandas.

It imports both, if they are installed, to learn the types of their values, of which rig stores none. That is
half of what `rig runs` would take.
"""

import importlib
import sys
from types import ModuleType

_import_module = importlib.import_module


def _of_rig(name: str, package: str | None = None) -> ModuleType:
    is_asked_by_it = sys._getframe(1).f_globals.get("__name__") == "sqlite_utils.db"
    if is_asked_by_it and name in ("numpy", "pandas") and name not in sys.modules:
        raise ImportError(name)
    return _import_module(name, package)


importlib.import_module = _of_rig
try:
    from sqlite_utils import Database as Database
finally:
    importlib.import_module = _import_module
