"""Model files on a node: found there by their SHA-256, or sent once through the object store."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.engine.files.atomic import put_in_place, temporary_folder
from rig.engine.files.checksums import sha256_of
from rig.errors import RigError
from rig.paths import cache_directory, models_directory

PART = 256 * 2**20
"""Bytes of a file that are sent in one piece."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A file as the machine knows it that the run is on."""

    path: Path
    sha256: str
    size: int

    @classmethod
    def of(cls, path: Path) -> "Weights":
        """Of a file here. Raises RigError if it cannot be read."""
        return cls(path.absolute(), sha256_of(path), path.stat().st_size)

    def parts(self) -> Iterator[bytes]:
        """What is in the file, piece by piece."""
        with self.path.open("rb") as file:
            while part := file.read(PART):
                yield part

    def find(self) -> Path | None:
        """Where the same file lies on this machine: in its own place, among the models, or as it was sent."""
        folders = (models_directory(), self._sent.parent)
        others = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.gguf")))
        for path in (self.path, *others):
            if path.is_file() and path.stat().st_size == self.size and sha256_of(path) == self.sha256:
                return path
        return None

    def keep(self, parts: Iterable[bytes]) -> Path:
        """Write down what was sent. Raises RigError if it is not what it should be."""
        self._sent.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(self._sent.parent, "sent") as folder:
            file = folder / self._sent.name
            with file.open("wb") as written:
                for part in parts:
                    written.write(part)
            if sha256_of(file, fresh=True) != self.sha256:
                raise RigError(f"{self.path.name}: arrived damaged; start the run again")
            put_in_place(file, self._sent)
        return self._sent

    @property
    def _sent(self) -> Path:
        return cache_directory() / "sent" / self.sha256 / self.path.name
