"""Exporting stored runs to files of other tools: inspect, lm-eval, the Hugging Face Hub, and pipelines.

Only verbs import this package. They find an export by its name, as they find a method.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rig.core.errors import RigError, did_you_mean
from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "judging",
    "papers",
    "report",
    "rescore",
    "resources",
)

if TYPE_CHECKING:
    from rig.store import Runs, StoredRun


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A run, its open store, and the values of `--set`."""

    runs: "Runs"
    run: "StoredRun"
    values: Mapping[str, str]


class Export:
    """A file format for stored runs. A subclass overrides either `pieces` or `fill`.

    `settings` are the names that `--set` accepts. `is_folder` is whether there can be several files.
    """

    name: str = ""
    settings: tuple[str, ...] = ()
    is_folder: bool = False

    def pieces(self, source: ExportSource) -> Iterator[str]:
        """Yield the text of the only file, piece by piece."""
        raise NotImplementedError

    def fill(self, source: ExportSource, folder: Path) -> Sequence[Path]:
        """Write files into an empty folder and return their paths."""
        raise NotImplementedError

    def values(self, texts: Sequence[str]) -> dict[str, str]:
        """Parse texts of the form `NAME=VALUE`. Raises RigError for an unknown name."""
        values = {}
        for text in texts:
            name, is_there, value = text.partition("=")
            if not is_there or name not in self.settings:
                names = ", ".join(self.settings) or "nothing"
                near = did_you_mean(name, self.settings)
                raise RigError(f"--set {text}: --format {self.name} takes NAME=VALUE of {names}{near}")
            values[name] = value
        return values


def file_name(text: str) -> str:
    """Return a text in a form that is safe as the name of a file or of an archive's member.

    A long text is cut, and a hash of it keeps the names of different texts apart.
    """
    encoded = text.encode("utf-8", "backslashreplace")
    name = quote(encoded, safe=" +,=@").replace("..", "%2E%2E")
    return name if len(name) <= 200 else f"{name[:180]}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def register(registry: Registry) -> None:
    """Register rig's own exports."""
    registry.verbs.later(
        "gate",
        "rig.plugins.exports.gate_verb:command",
        does="Pass or fail a pipeline by a policy of conditions.",
        group="Results",
    )
    registry.verbs.later(
        "export",
        "rig.plugins.exports.verbs:export",
        does="Export a run as rows, or as files for other tools.",
        group="Results",
    )
    registry.verbs.later(
        "import",
        "rig.plugins.exports.verbs:import_",
        does="Import runs of another store, or results of another tool.",
        group="Results",
    )
    registry.exports.later("inspect", "rig.plugins.exports.inspect_log:EXPORT")
    registry.exports.later("junit", "rig.plugins.exports.pipelines:JUNIT")
    registry.exports.later("github", "rig.plugins.exports.pipelines:GITHUB")
    registry.exports.later("lm-eval", "rig.plugins.exports.results:LM_EVAL")
    registry.exports.later("eval-results", "rig.plugins.exports.results:EVAL_RESULTS")
