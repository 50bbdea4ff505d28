"""Store what another tool recorded as a run."""

from pathlib import Path

from rig.events import Where
from rig.methods.base import Method
from rig.methods.paper import RecordedRun
from rig.running.options import Options
from rig.store import ConversationScore, GraderInfo, NewRun, RunWriter, check_writable
from rig.store.reader import new_run_id
from rig.tasks import Task


def import_run(store: Path, method: Method, recorded: RecordedRun, name: str | None = None) -> str:
    """Store a recorded run with the scores that the method gives; its id. Raises RigError as storing does."""
    check_writable(store)
    options = Options(models=(), method=method.name, set=recorded.options)
    values = options.first_values(method)
    setup = method.ready(values)
    info = GraderInfo.of(setup.grader)
    tasks: dict[str, Task] = {task.name: task for task in recorded.tasks}
    run = new_run_id(store)
    recipe = {**options.as_json(()), "models": [arm.name for arm in recorded.arms]}
    repeats = max((repeat for arm in recorded.arms for _, repeat, _ in arm.episodes), default=0) + 1
    arms = tuple(arm.name for arm in recorded.arms)
    new = NewRun(run, name, recipe, arms, tuple(tasks.values()), method.declaration, repeats)
    with RunWriter.create(store, new) as writer:
        for position, arm in enumerate(recorded.arms):
            writer.arm_ready(position, arm.fingerprint, 0.0)
            for task, repeat, turns in arm.episodes:
                score = ConversationScore(info, setup.score(tasks[task], turns, arm.settings))
                writer.commit_episode(Where(position, task, repeat), turns, score)
        writer.finish()
    return run
