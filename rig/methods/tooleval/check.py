"""Whether queries can be solved: what files claim, and whether their own calls and answers pass."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rig.calls import ExecutedCall, Outcome
from rig.errors import RigError
from rig.methods.checking import Checked
from rig.methods.tooleval.judgement import AnswerJudge
from rig.methods.tooleval.prompt import ToolEvalSettings, offered
from rig.methods.tooleval.queries import Query, load, names
from rig.toolbox.simulator import Simulator


def check(place: Path, settings: ToolEvalSettings) -> Checked:
    """Check the queries of a folder or file."""
    try:
        queries = load(place)
    except RigError as error:
        return Checked(place, 0, (str(error),))
    return Checked(place, len(queries), tuple(faults(queries, settings)))


def faults(queries: Sequence[Query], settings: ToolEvalSettings) -> Iterator[str]:
    """What is wrong with queries that could be read, a line on each."""
    toolbox = settings.toolbox
    simulator = Simulator(toolbox.world(), toolbox)
    judgement = AnswerJudge(simulator.twin)
    for query in queries:
        try:
            messages = [*_calls(query, settings, simulator), *_answer(query, judgement, settings)]
        except RigError as error:
            messages = [str(error)]
        yield from (f"{query.name}: {fault}" for fault in messages)


def _calls(query: Query, settings: ToolEvalSettings, simulator: Simulator) -> Iterator[str]:
    """Every call must be on offer and succeed."""
    on_offer = {tool.name for tool in offered(query, settings)}
    simulator.start(*query.start)
    for call in query.calls:
        if call.name not in on_offer:
            yield f"{call.name} is not on offer"
        executed = simulator.execute(call)
        if executed.exception is not None:
            yield f"{call.name} fails: {executed.exception}"


def _answer(query: Query, judgement: AnswerJudge, settings: ToolEvalSettings) -> Iterator[str]:
    """The answer must name every fact; without facts and without actions anything would be right."""
    yield from (
        f"the answer does not name {' or '.join(ways)}"
        for ways in query.named
        if not names(query.answer, ways)
    )
    told = [" or ".join(ways) for ways in query.named if names(query.query, ways)]
    yield from (f"the query gives {fact} away" for fact in told)
    acts = any(settings.toolbox.is_action(call.name) for call in query.calls)
    if not acts and not query.named:
        yield "it wants no action and no fact"
    changes = judgement.changes(query, [ExecutedCall(call, Outcome()) for call in query.calls])
    if acts and not changes:
        yield "its actions change nothing"
