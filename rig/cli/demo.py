"""`rig demo`: a run that was recorded, told again; needs no model."""

import lzma
import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rig import displays
from rig.cli.watch import tell
from rig.displays.base import resolve
from rig.paths import DEMO
from rig.store import Runs

LASTS_S = 30.0


@click.command()
@click.option(
    "--display", type=click.Choice(displays.NAMES), default="auto", show_default=True, help="Live view."
)
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), help="1 is half a minute.")
@click.pass_context
def command(context: click.Context, /, display: str, speed: float | None) -> None:
    """Show a recorded run in half a minute: no model, no download.

    It is the run of a small model that was taught to call tools, on the easy suite: passes and failures as
    they came. Without a terminal all is printed at once. Nothing of it joins your own runs.
    """
    with TemporaryDirectory(prefix="rig-demo-") as folder:
        store = Path(folder) / "demo.sqlite"
        store.write_bytes(lzma.decompress(DEMO.read_bytes()))
        with Runs.open(store) as runs:
            took = sum(arm.speed.wall_s for arm in runs.get("latest").arms)
        is_paced = speed is not None or resolve(display, sys.stdout) == "tui"
        pace = took / LASTS_S * (speed or 1.0) if is_paced else math.inf
        code = tell(context, store, "latest", display, speed=pace, is_kept=False)
    if display not in ("log", "none"):
        click.echo("\nThis was a recording. `rig run MODEL` evaluates a model of yours.")
    sys.exit(code)
