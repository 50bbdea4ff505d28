"""`rig serve-command`: how to serve a file as it was tested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rig.cli import options as shared
from rig.cli.output import print_json, say
from rig.cli.verbs import argument, verb
from rig.core.errors import RigError
from rig.show.texts import file_size

if TYPE_CHECKING:
    from rig.compare.arms import ChosenArm
    from rig.store import Runs


@verb()
def command(
    arm: str = argument("RUN[/ARM]", shell_complete=shared.complete_runs),
    *,
    runs: Path = shared.STORE,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Say how to serve a file as it was tested: with llama-server, Ollama or LM Studio.

    RUN alone means its only arm, or the file that `rig compare RUN` decides for. rig prints the command of
    llama-server, a Modelfile for Ollama and the settings of LM Studio, and what each of them cannot be told.
    It opens no file that the run names, and starts nothing.

    \b
    Examples:
      rig serve-command latest
      rig serve-command latest/model-q4_k_m
    """  # noqa: D301 - for click
    from rig.plugins.serve_commands.programs import PROGRAMS, common_notes, facts
    from rig.plugins.serve_commands.tested import read
    from rig.store import Runs

    with Runs.open(runs) as opened:
        chosen = _chosen(opened, arm)
        run = opened.get(chosen.run.id)
    played = run.arms[chosen.arm.position]
    served = read(run, played)
    programs = [program(served) for program in PROGRAMS]
    notes = common_notes(served, run.declaration.form_note(played.rated))
    if as_json:
        told = {program.name: {"lines": program.lines, "notes": program.notes} for program in programs}
        print_json({"run": run.id, "arm": played.name, **facts(served), **told, "notes": notes})
        return
    tested = served.tested
    say(f"{played.name} of run {run.id}: {file_size(tested.file_bytes)}, SHA-256 {tested.file_sha256}")
    for program in programs:
        lines = (*program.lines, *(f"({note})" for note in program.notes))
        say("\n".join((f"\n{program.title}", *(f"  {line}" for line in lines))))
    say("\n" + "\n".join(f"- {note}" for note in notes))


def _chosen(runs: Runs, address: str) -> ChosenArm:
    """Return the one arm that an address means. Raises RigError."""
    from rig.compare.arms import ComparisonOptions, choose
    from rig.compare.compare import compare

    arms = choose(runs, [address])
    if len(arms) == 1:
        return arms[0]
    decided = None
    try:
        question = ComparisonOptions(across_settings=True, loss=arms[0].run.settings.get("loss", 5.0))
        decided = compare(runs, [address], question).recommendation
    except RigError:
        pass  # nothing in it can be compared
    candidates = [arm for arm in arms if decided and arm.label == decided.arm]
    if not candidates:
        names = ", ".join(arm.address for arm in arms)
        raise RigError(f"which arm? The run does not decide for a file; give one of {names}")
    return candidates[0]
