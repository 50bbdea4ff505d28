"""The suite `medium`, which is not shipped as files but made from its seed when it is first used."""

import gzip
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click

from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import read_bytes
from rig.core.paths import cache_directory
from rig.plugins.author.scenes import read_scenes
from rig.plugins.author.suite import Maker, SuitePart, Watch, digest
from rig.world.toolbox import find_toolbox

SCENES = Path(__file__).with_name("scenes")
"""The scenes that ship with rig, for ToolTalk's tools."""

MAX_BYTES = 256 * 2**20


@dataclass(frozen=True)
class MadeSuite:
    """A suite for ToolTalk's tools, made from scenes. The first half is public; the second can be made anew.

    `sha256` is the digest of its conversations, and `method` is the method that plays them.
    """

    name: str
    size: int
    seed: int
    sha256: str
    method: str = "tooltalk"

    def maker(self, seed: int | None = None, count: int | None = None) -> Maker:
        """Return its maker; `seed` is another seed for the second half, `count` another size."""
        toolbox = find_toolbox(None)
        half = (self.size if count is None else count) // 2
        rest = (self.size if count is None else count) - half
        parts = (
            SuitePart(half, self.seed, "public"),
            SuitePart(rest, self.seed + 1 if seed is None else seed, "renewable"),
        )
        return Maker(self.name, toolbox, read_scenes(SCENES, toolbox), parts)

    def sources(self) -> list[JsonObject]:
        """Return its conversations in ToolTalk's shape, from the cache or newly made.

        Raises RigError if they are not the ones that were released.
        """
        cached = cache_directory() / f"{self.name}-{self.sha256[:16]}.json.gz"
        sources = self._read(cached)
        if sources is None:
            maker = self.maker()
            sources = [proposal.source for proposal in maker.make(_progress(self.name, self.size))]
            if digest(sources) != self.sha256:
                raise RigError(
                    f"the suite {self.name} came out as {digest(sources)[:16]}, not as {self.sha256[:16]} as"
                    " released: the scenes or the tools of this rig were changed"
                )
            self._write(cached, sources)
        return sources

    def _read(self, cached: Path) -> list[JsonObject] | None:
        try:
            sources = parse_json(gzip.decompress(read_bytes(cached, MAX_BYTES)))
            return sources if digest(sources) == self.sha256 else None
        except (RigError, OSError, EOFError, ValueError, KeyError, TypeError):
            return None

    def _write(self, cached: Path, sources: list[JsonObject]) -> None:
        try:
            cached.parent.mkdir(parents=True, exist_ok=True)
            part = cached.with_suffix(".part")
            part.write_bytes(gzip.compress(json.dumps(sources).encode(), mtime=0))
            part.replace(cached)
        except OSError:
            return  # a cache that cannot be written costs the time to make it again


def _progress(name: str, size: int) -> Watch:
    """Return a watcher that shows the progress in a line, if stderr is a terminal."""

    def watch(count: int, thrown: Counter[str]) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{name}: made from its seed, once: {count} of {size}", nl=count == size, err=True)

    return watch


MEDIUM = MadeSuite("medium", 1000, 32, "0cb779463b934a3cc4cef96e09fbb8fd682577e67b23b67322d131f69c8a75c8")
"""1,000 conversations of two to six turns."""
