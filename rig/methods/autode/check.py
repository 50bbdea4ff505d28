"""Whether scenarios can be played: what files claim, and whether players who know the script get through."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rig.episodes import ASSISTANT as THE_ASSISTANT
from rig.errors import RigError
from rig.events import Where
from rig.methods.autode.data import checkout
from rig.methods.autode.data.scenarios import USER, Scenario, load_directory
from rig.methods.autode.episode import Dialogue
from rig.methods.autode.players.oracle import obedient_step, true_step
from rig.methods.autode.players.scripted_user import ScriptedUser, missing
from rig.methods.autode.prompt import THE_USER
from rig.methods.autode.talk import Talk
from rig.methods.base import Setup
from rig.methods.checking import Checked
from rig.methods.episode import course
from rig.methods.scripted import Oracle
from rig.models import Model

GIVEN_AT_FIRST = 2
"""How many values the first query may give away: the rest is for the assistant to ask for."""

OFFERED = range(2, 7)
"""How many APIs are on offer, so that choosing one matters."""


def check(place: Path, setup: Setup) -> Checked:
    """Check the scenarios of a folder, or whether every row of upstream's data can be read."""
    try:
        if checkout.find_dataset(place) is not None:
            rows = checkout.read(place)
            return Checked(place, len(rows.scenarios), rows.faults)
        scenarios = load_directory(place)
    except RigError as error:
        return Checked(place, 0, (str(error),))
    return Checked(place, len(scenarios), tuple(f"{place}: {fault}" for fault in faults(scenarios, setup)))


def faults(scenarios: Sequence[Scenario], setup: Setup) -> Iterator[str]:
    """What is wrong with scenarios that could be read, a line on each."""
    user = ScriptedUser(scenarios)
    oracle, obedient = (Oracle(scenarios, step) for step in (true_step, obedient_step))
    for scenario in scenarios:
        by_oracle = _play(scenario, setup, {THE_ASSISTANT: oracle, THE_USER: user})
        by_obedient = _play(scenario, setup, {THE_ASSISTANT: obedient, THE_USER: user})
        for fault in (*_claims(scenario), *_untold(scenario, by_oracle), *_unasked(scenario, by_obedient)):
            yield f"{scenario.name}: {fault}"


def _claims(scenario: Scenario) -> Iterator[str]:
    given = len(scenario.slots) - len(missing(scenario, [scenario.query]))
    if given > GIVEN_AT_FIRST:
        yield f"the first query gives away {given} values; at most {GIVEN_AT_FIRST}"
    if len(scenario.apis) not in OFFERED:
        yield f"{len(scenario.apis)} APIs are on offer; {OFFERED[0]} to {OFFERED[-1]}"
    left_out = [name for name in scenario.api.required("fixed") if name not in scenario.slots]
    if left_out:
        yield f"the call has no {', '.join(left_out)}, which {scenario.call.name} requires"


def _play(scenario: Scenario, setup: Setup, players: Mapping[str, Model]) -> Talk:
    """A conversation of these players."""
    dialogue = setup.start(scenario, setup.settings, Where(0, scenario.name), lambda _: None, 0)
    assert isinstance(dialogue, Dialogue)
    for _ in course(dialogue, players):
        pass
    return dialogue.talk


def _untold(scenario: Scenario, talk: Talk) -> Iterator[str]:
    """The scripted user must say every value, and the oracle make the true call."""
    said = [text for role, text in talk.said if role == USER]
    unsaid = [name for name in missing(scenario, said) if not isinstance(scenario.slots[name], bool)]
    if unsaid:
        yield f"asked for it, the scripted user does not say {', '.join(unsaid)}"
    if talk.end != "called":
        yield f"the oracle and the scripted user end without a call: {talk.end}"


def _unasked(scenario: Scenario, talk: Talk) -> Iterator[str]:
    """Who asks for what is required and no more must come to know all that the true call needs."""
    slots = talk.call.arguments if talk.call is not None and isinstance(talk.call.arguments, dict) else {}
    required = scenario.api.required("fixed")
    unasked = [name for name in scenario.slots if name not in slots and name not in required]
    if unasked:
        names = ", ".join(unasked)
        yield f"who asks only for what is required never learns {names}: mark it, or say it at first"
