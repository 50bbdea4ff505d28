"""Earlier predictions: read from files, scored again, executed again, written for other tools."""

from rig.rescore.adjudication import Adjudication, Opinion, Opinions, Unsettled
from rig.rescore.flat import FlatFormat, flat_lines, write_lines, write_parquet
from rig.rescore.reexecute import Effect, Effects, Reexecuted, effects, effects_of, reexecute, require_world
from rig.rescore.setups import places_of_path, settings_of, setup_for_files, setup_of
from rig.rescore.stored import Scored, export_run, import_run, score_files, score_run

__all__ = [
    "Adjudication",
    "Effect",
    "Effects",
    "FlatFormat",
    "Opinion",
    "Opinions",
    "Reexecuted",
    "Scored",
    "Unsettled",
    "effects",
    "effects_of",
    "export_run",
    "flat_lines",
    "import_run",
    "places_of_path",
    "reexecute",
    "require_world",
    "score_files",
    "score_run",
    "settings_of",
    "setup_for_files",
    "setup_of",
    "write_lines",
    "write_parquet",
]
