"""What the shipped suites promise, and whether they keep it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from conversations.reading import Feature, Reading

from rig.plugins.tooltalk.check import Defect
from rig.plugins.tooltalk_tools import TOOLTALK


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """The promises of one suite. `features` are the least numbers of conversations that show each."""

    conversations: int
    calls: tuple[int, int]
    exchanges: tuple[int, int]
    plugins: tuple[int, int]
    tool_uses: int
    longest_request: int = 60
    one_for_each_tool: bool = False
    every_triple_of_plugins: bool = False
    timestamps: int = 1
    locations: int = 1
    users: int = 1
    features: Mapping[Feature, int] = field(default_factory=dict)


RULES: Mapping[str, SuiteRules] = {
    "easy": SuiteRules(
        conversations=28,
        calls=(1, 2),
        exchanges=(2, 4),
        plugins=(1, 1),
        tool_uses=1,
        longest_request=25,
        one_for_each_tool=True,
        timestamps=8,
        locations=8,
        users=20,
    ),
    "hard": SuiteRules(
        conversations=50,
        calls=(3, 12),
        exchanges=(3, 10),
        plugins=(3, 3),
        tool_uses=2,
        longest_request=40,
        every_triple_of_plugins=True,
        timestamps=8,
        locations=8,
        users=20,
        features={
            Feature.TANDEM: 35,
            Feature.CORRECTION: 15,
            Feature.ASK: 15,
            Feature.NO_TOOL: 10,
            Feature.DATES: 12,
            Feature.TWO_USERS: 8,
            Feature.LOGGED_OUT: 7,
            Feature.ERROR: 3,
        },
    ),
}


def check_rules(suite: str, rules: SuiteRules, readings: Sequence[Reading]) -> Iterator[Defect]:
    """Faults of a whole suite, and of conversations that step out of its bounds."""
    for reading in readings:
        for what, value, (least, most) in (
            ("calls", len(reading.calls), rules.calls),
            ("exchanges", reading.exchanges, rules.exchanges),
            ("plugins", len(reading.plugins), rules.plugins),
            ("words in the longest request", reading.longest_request, (1, rules.longest_request)),
        ):
            if not least <= value <= most:
                text = f"{value} {what}, the suite has {least} to {most}"
                yield Defect(f"{reading.conversation.name}.json", "bounds", text)
    for what, have, need in quotas(rules, readings):
        if have < need:
            yield Defect(suite, "quota", f"{what}: {have} of {need}")
    if rules.one_for_each_tool:
        for tool in TOOLTALK.tools:
            named = [reading for reading in readings if reading.conversation.name == f"{tool}-{suite}"]
            if not any(tool in reading.tools for reading in named):
                yield Defect(suite, "coverage", f"no conversation {tool}-{suite} calls {tool}")
    uses = Counter(tool for reading in readings for tool in reading.tools)
    for tool in TOOLTALK.tools:
        if uses[tool] < rules.tool_uses:
            yield Defect(suite, "coverage", f"{tool} is called {uses[tool]} of {rules.tool_uses} times")


def quotas(rules: SuiteRules, readings: Sequence[Reading]) -> Iterator[tuple[str, int, int]]:
    """(what, how many there are, how many there have to be)."""
    yield "conversations", len(readings), rules.conversations
    for what, values, need in (
        ("days", {reading.conversation.metadata.now.date() for reading in readings}, rules.timestamps),
        ("locations", {reading.conversation.metadata.location for reading in readings}, rules.locations),
        ("users", {reading.conversation.user.username for reading in readings}, rules.users),
    ):
        yield what, len(values), need
    for feature, need in rules.features.items():
        yield str(feature), sum(feature in reading.features for reading in readings), need
    if rules.every_triple_of_plugins:
        triples = list(combinations(TOOLTALK.plugins, 3))
        covered = sum(any(reading.plugins == set(triple) for reading in readings) for triple in triples)
        yield "sets of three plugins", covered, len(triples)
