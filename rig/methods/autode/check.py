"""Whether scenarios can be played: what files claim, and whether players who know the script get through."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rig.errors import RigError
from rig.events import Where
from rig.methods.autode.data import checkout
from rig.methods.autode.data.scenarios import USER, Scenario, load_directory
from rig.methods.autode.episode import Dialogue
from rig.methods.autode.judgement import arguments
from rig.methods.autode.players.oracle import obedient_step, true_step
from rig.methods.autode.players.scripted_user import ScriptedUser, missing
from rig.methods.autode.prompt import THE_USER
from rig.methods.autode.talk import Talk
from rig.methods.base import Setup
from rig.methods.checking import Checked
from rig.methods.episode import course
from rig.methods.scripted import Oracle
from rig.models import Model
from rig.tasks import ASSISTANT as THE_ASSISTANT

GIVEN_AT_FIRST = 2
"""How many values the first query may give away: the rest is for the assistant to ask for."""

OFFERED = range(2, 7)
"""How many APIs are on offer, so that choosing one matters."""


def check(place: Path, setup: Setup) -> Checked:
    """Check the scenarios of a folder, or whether every row of upstream's data can be read."""
    try:
        if checkout.find_dataset(place) is not None:
            rows = checkout.read(place)
            return Checked(place, len(rows), rows.faults)
        scenarios = load_directory(place)
    except RigError as error:
        return Checked(place, 0, (str(error),))
    return Checked(place, len(scenarios), tuple(f"{place}: {fault}" for fault in faults(scenarios, setup)))


def faults(scenarios: Sequence[Scenario], setup: Setup) -> Iterator[str]:
    """What is wrong with scenarios that could be read, a line on each."""
    user = ScriptedUser(scenarios)
    oracle, obedient = (Oracle(scenarios, step) for step in (true_step, obedient_step))
    for scenario in scenarios:
        talks = (_play(scenario, setup, assistant, user) for assistant in (oracle, obedient))
        yield from (f"{scenario.name}: {fault}" for fault in _faults(scenario, *talks))


def _play(scenario: Scenario, setup: Setup, assistant: Model, user: Model) -> Talk:
    """A conversation of these players."""
    dialogue = setup.start(scenario, setup.settings, Where(0, scenario.name), lambda _: None, 0)
    assert isinstance(dialogue, Dialogue)
    for _ in course(dialogue, {THE_ASSISTANT: assistant, THE_USER: user}):
        pass
    return dialogue.talk


def _faults(scenario: Scenario, by_oracle: Talk, by_obedient: Talk) -> Iterator[str]:
    """The scripted user must say every value, and the oracle make the true call.

    Who asks for what is required and no more must come to know all that the true call needs.
    """
    told = len(scenario.slots) - len(missing(scenario, [scenario.query]))
    required = scenario.api.required("fixed")
    if told > GIVEN_AT_FIRST:
        yield f"the first query gives away {told} values; at most {GIVEN_AT_FIRST}"
    if len(scenario.apis) not in OFFERED:
        yield f"{len(scenario.apis)} APIs are on offer; {OFFERED[0]} to {OFFERED[-1]}"
    if left_out := [name for name in required if name not in scenario.slots]:
        yield f"the call has no {', '.join(left_out)}, which {scenario.call.name} requires"
    unsaid = missing(scenario, [text for role, text in by_oracle.said if role == USER])
    if unsaid := [name for name in unsaid if not isinstance(scenario.slots[name], bool)]:
        yield f"asked for it, the scripted user does not say {', '.join(unsaid)}"
    if by_oracle.end != "called":
        yield f"the oracle and the scripted user end without a call: {by_oracle.end}"
    slots = arguments(by_obedient.call) if by_obedient.call is not None else {}
    if unasked := [name for name in scenario.slots if name not in slots and name not in required]:
        names = ", ".join(unasked)
        yield f"who asks only for what is required never learns {names}: mark it, or say it at first"
