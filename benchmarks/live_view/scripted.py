"""A run of a scripted model under the live view, or under no display: the child of measure.py.

    python scripted.py DISPLAY CONVERSATIONS TOKENS_PER_SECOND SLOTS

The model makes the ground truth's calls, some of them wrongly, four characters at a time. It ends with one
JSON object: for every tenth conversation, how many were over and how large the process was then, in bytes.
"""

import hashlib
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rig.config.options import RunConfig
from rig.core.calls import without_token
from rig.core.events import ConversationFinished, Emit, Event
from rig.core.models import Notify, Prediction, Request
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.tooltalk.conversations import Conversation
from rig.running.control import Control
from rig.running.plan import Arm
from rig.running.planning import plan
from rig.running.runner import run
from rig.show.base import Display, NoDisplay
from tui.display import TuiDisplay

CHUNK = 4
STEP = 10


def resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmRSS is not in /proc/self/status")


class Script:
    """What the model answers: the ground truth, but one call in five has an argument that is not."""

    def __init__(self, conversations: tuple[Conversation, ...]) -> None:
        self._turns = {each.name: each.turns for each in conversations}

    def __call__(self, request: Request) -> Prediction:
        key = request.key
        turn = self._turns[key.conversation][key.turn]
        if key.step >= len(turn.calls):
            return replied(turn.text)
        call = turn.calls[key.step]
        arguments = without_token(call.arguments)
        assert isinstance(arguments, dict)
        chance = hashlib.sha256(repr(key).encode()).digest()[0]
        if arguments and chance < 51:
            name = min(arguments)
            arguments = {**arguments, name: f"{arguments[name]} or so"}
        return called(call.name, arguments)


def main(display: str, conversations: int, rate: float, slots: int) -> None:
    grown: list[tuple[int, int]] = []
    over = 0
    with tempfile.TemporaryDirectory() as folder:
        planned = plan(RunConfig.of(models=("oracle",)), Path(folder) / "runs.sqlite")
        script = Script(planned.conversations)

        def load(_notify: Notify) -> Scripted:
            return Scripted(script, chunk=CHUNK, delay_s=1 / rate if rate else 0.0, slots=slots)

        repeats = -(-conversations // len(planned.conversations))
        planned = replace(planned, arms=(Arm("scripted", load),), repeats=repeats)

        def job(emit: Emit) -> bool:
            def told(event: Event) -> None:
                nonlocal over
                emit(event)
                if isinstance(event, ConversationFinished):
                    over += 1
                    if over % STEP == 0:
                        grown.append((over, resident()))
                    if over >= conversations:
                        control.stop()

            return run(planned, told, control)

        control = Control()
        shown: Display = TuiDisplay() if display == "tui" else NoDisplay()
        shown.run(job, control)
    print(json.dumps({"resident": grown}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
