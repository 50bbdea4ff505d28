"""Stored runs as files of other people's tools: inspect, lm-eval, the Hugging Face Hub, and pipelines.

Nothing imports this room but verbs. They reach an export by its name, as they do a method.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rig.errors import RigError, did_you_mean
from rig.plugins import Registry
from rig.store import Runs, StoredRun


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A run, its open store, and what `--set` says."""

    runs: Runs
    run: StoredRun
    values: Mapping[str, str]


class Export:
    """A form for stored runs. A subclass overrides one of the two methods.

    `settings` are the names that `--set` can have. `is_folder`: there are several files, or may be.
    """

    name: str = ""
    settings: tuple[str, ...] = ()
    is_folder: bool = False

    def pieces(self, source: ExportSource) -> Iterator[str]:
        """The text of the one file, piece by piece."""
        raise NotImplementedError

    def fill(self, source: ExportSource, folder: Path) -> Sequence[Path]:
        """Write files into an empty folder; the files."""
        raise NotImplementedError

    def values(self, texts: Sequence[str]) -> dict[str, str]:
        """What `NAME=VALUE` says, by name. Raises RigError for a name that is none."""
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
    """Any text as the name of a file, or of a member of an archive."""
    return quote(text.encode("utf-8", "backslashreplace"), safe=" +,=@").replace("..", "%2E%2E")[:200]


def register(registry: Registry) -> None:
    """Offer rig's own exports."""
    registry.exports.later("inspect", "rig.exports.inspect_log:EXPORT")
    registry.exports.later("junit", "rig.exports.pipelines:JUNIT")
    registry.exports.later("github", "rig.exports.pipelines:GITHUB")
    registry.exports.later("lm-eval", "rig.exports.results:LM_EVAL")
    registry.exports.later("eval-results", "rig.exports.results:EVAL_RESULTS")
