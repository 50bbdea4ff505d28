"""Scenes: what is wrong in a file is one line with its place, and what a scene says depends on who speaks."""

from datetime import date, datetime, time
from pathlib import Path
from random import Random

import pytest

from rig.core.errors import RigError
from rig.plugins.author.desk import Desk, Proposal, Rejected
from rig.plugins.author.scenes import read_scenes
from rig.plugins.author.suite import Maker, SuitePart
from rig.plugins.author.voices import Day, DayAndTime, Manner, Scope, TimeOfDay
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Simulator

NOW = datetime.fromisoformat("2027-03-01 09:00")
GOOD = """\
- scene: wake
  slots:
    at: {time: 06:00..08:00}
  turns:
    - user: |
        Wake me at {at}, please.
        Alarm at {at}.
      calls:
        - AddAlarm: {time: "{at}"}
      reply: It's set for {at}.
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "scenes.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "line", "text"),
    [
        (("AddAlarm", "AddAlarn"), 9, "no tool is named AddAlarn in tooltalk (did you mean 'AddAlarm'?)"),
        (('{time: "{at}"}', '{tim: "{at}"}'), 9, "AddAlarm has no argument tim (did you mean 'time'?)"),
        (("set for {at}", "set for {a}"), 10, "{a}: nothing is called that"),
        (("Alarm at {at}.", "Alarm at {at|shout}."), 5, "|shout is not known"),
        (("please.", "[please."), 5, "a bracket is not closed"),
        (("{time: 06:00..08:00}", "{tiem: 06:00..08:00}"), 3, "is no slot"),
        (("  slots:", "  slot:"), 2, "is not known here"),
        (("- user:", "- usr:"), 5, "is not known here"),
        (("06:00..08:00", "06:00..later"), 3, "is no slot"),
        (("{time: 06:00..08:00}", "{pick: fruit}"), 3, "no list is called fruit"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else None,
)
def test_a_fault_has_file_and_line(tmp_path: Path, change: tuple[str, str], line: int, text: str) -> None:
    path = _write(tmp_path, GOOD.replace(*change))
    with pytest.raises(RigError) as error:
        list(Maker("x", TOOLTALK, read_scenes(path, TOOLTALK), [SuitePart(1, 1)], is_strict=False).make())
    assert f"{path}, line {line}: " in str(error.value)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


WISH = "    - user: |\n        Wake me at {at}, please.\n        Alarm at {at}.\n"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([(WISH, "    - user: []\n")], "needs at least one way to say it"),
        ([(WISH, "    - either: []\n" + WISH)], "needs ways to choose from"),
        ([("scene: wake", "scene: wake\n  weight: 0")], "needs a number from 1e-06 to a million"),
        ([("{time: 06:00..08:00}", "{day: 0..99999999999}"), ("{at}.", "{at.when}")], "there is no 'when'"),
        ([("  turns:", "    by: {after: now, days: 99999999999}\n  turns:")], "is no slot"),
        ([("{time: 06:00..08:00}", '[""]'), (WISH, '    - user: "{at}"\n')], "may say nothing"),
        ([("{time: 06:00..08:00}", '["{at|text}"]')], "holds itself"),
        ([("{time: 06:00..08:00}", f"['{'x' * 20_000}']")], "longer than 10000 characters"),
        ([('"{at}"', "{$regex: a}")], "needs an `example`"),
        ([("  turns:", "  world: {account: [1]}\n  turns:")], "world.account: "),
        ([("  turns:", '  world: {noise: {"x": 1}}\n  turns:')], "world.noise: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_scene_that_cannot_be_played_is_one_line(
    tmp_path: Path, changes: list[tuple[str, str]], says: str
) -> None:
    text = GOOD
    for change in changes:
        text = text.replace(*change)
    assert text != GOOD
    path = _write(tmp_path, text)
    with pytest.raises(RigError) as error:
        list(Maker("x", TOOLTALK, read_scenes(path, TOOLTALK), [SuitePart(1, 1)], is_strict=False).make())
    assert says in str(error.value)
    assert "line " in str(error.value)


def test_slots_of_slots_are_bounded(tmp_path: Path) -> None:
    """Each says the next sixty times: without a bound that is a text of a gigabyte."""
    below = "".join(f'    s{level}: ["{f"{{s{level + 1}}}" * 60}"]\n' for level in range(6))
    text = GOOD.replace("  turns:", f"{below}    s6: [x]\n  turns:").replace("Alarm at {at}.", "{s0}.")
    read = read_scenes(_write(tmp_path, text.replace("Wake me at {at}, please.", "{s0}!")), TOOLTALK)
    maker = Maker("x", TOOLTALK, read, [SuitePart(1, 1)], is_strict=False)
    with pytest.raises(RigError, match=r"or 100000 of a scene"):
        list(maker.make())


def test_more_scenes_than_can_be_weighed_are_refused(tmp_path: Path) -> None:
    many = "".join(GOOD.replace("wake", f"wake-{number}") for number in range(1_001))
    with pytest.raises(RigError, match="more than 1000 scenes"):
        read_scenes(_write(tmp_path, many), TOOLTALK)
    for number in range(12):
        (tmp_path / f"{number}.yml").write_text(f"# {'x' * 100_000}\n")
    with pytest.raises(RigError, match="more than 1 MiB of scenes"):
        read_scenes(tmp_path, TOOLTALK)


@pytest.mark.slow
def test_a_seed_makes_the_same_and_another_seed_others(tmp_path: Path) -> None:
    scenes = read_scenes(_write(tmp_path, GOOD), TOOLTALK)

    def made(seed: int) -> list[Proposal]:
        return list(Maker("x", TOOLTALK, scenes, [SuitePart(4, seed)], is_strict=False).make())

    assert made(1) == made(1) != made(2)
    few = read_scenes(_write(tmp_path, GOOD.replace("08:00", "06:05")), TOOLTALK)
    with pytest.raises(RigError, match=r"such as alike: .*write more scenes"):
        list(Maker("x", TOOLTALK, few, [SuitePart(100, 1)], is_strict=False).make())


def test_a_value_sounds_as_whoever_speaks() -> None:
    names = {"at": TimeOfDay(time(17, 45)), "day": Day(date(2027, 3, 5), NOW), "when": DayAndTime(NOW, NOW)}
    scope = Scope(Random(1), NOW, names, Manner(clock="24 hours"))
    assert scope.text("{at}", "user") == "17:45"
    assert scope.text("it rings at {at}", "assistant") == "It rings at 5:45 pm"
    assert scope.value("{at}") == "17:45:00"
    assert scope.value("{day}") == "2027-03-05"
    assert scope.text("{day}", "assistant") == "On Friday, March 5"
    assert scope.value("{when}") == "2027-03-01 09:00:00"
    assert scope.value(["{at.words}", 3]) == [
        "a quarter to six in the afternoon",
        3,
    ]


def test_texts_are_filtered() -> None:
    names = {"x": "hour", "y": "unicorn", "z": [{"n": "Ann", "t": "08:00:00"}, {"n": "Bo", "t": "09:30:00"}]}
    scope = Scope(Random(1), NOW, names, Manner())
    assert scope.text("an {x|cap}, {x|a}, {y|a}", "user") == "an Hour, an hour, a unicorn"
    assert scope.text("{z|list n}", "user") == "Ann and Bo"
    assert scope.text("{z|list <n> at <t/time>}", "user") == "Ann at 8 am and Bo at 9:30 am"


def test_the_desk_counts_what_it_throws_away_by_reason(tmp_path: Path) -> None:
    scenes = read_scenes(_write(tmp_path, GOOD), TOOLTALK)
    (proposal,) = Maker("x", TOOLTALK, scenes, [SuitePart(1, 1)], is_strict=False).make()
    desk = Desk(Simulator(TOOLTALK.world(), TOOLTALK))
    assert desk.offer(lambda: proposal) is proposal
    assert desk.offer(lambda: proposal) is None

    def changed(find: str, put: str) -> Proposal:
        import json

        text = json.dumps(proposal.source)
        assert find in text
        return Proposal(json.loads(text.replace(find, put)), proposal.scenes)

    call = proposal.source["conversation"][1]["apis"][0]
    alarm = call["response"]["alarm_id"]
    assert desk.offer(lambda: changed(alarm, "0000-0000")) is None
    clock = call["request"]["parameters"]["time"]
    assert desk.offer(lambda: changed(f'"time": "{clock}"', '"time": "23:59:00"')) is None
    assert desk.offer(lambda: changed("AddAlarm", "AddAlarms")) is None

    def refused() -> Proposal:
        raise Rejected("nonsense", "no call")

    assert desk.offer(refused) is None
    assert desk.thrown == {"alike": 1, "replay": 2, "unsaid": 1, "nonsense": 1}
    assert desk.kept == [proposal]
