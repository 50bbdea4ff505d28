import pytest

from rig.plugins.tooltalk_tools import world as identifiers
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("SESSION_TOKENS", "e149636f-d9ca-0792 5c5373e0-fa69-84c3 36298341-4eab-12de 1400d29d-cac5-8d0c"),
        ("VERIFICATION_CODES", "984520 968507 188408 646780"),
        ("ALARM_IDS", "5bff-dd80 20d0-d9ca 0792-1add b8a6-0205"),
        ("EVENT_IDS", "e149636f-d9ca 03c93f31-b8a6 4261c3e1-71e7 27559f6b-2801"),
        ("REMINDER_IDS", "5b-dd80 20-d9ca 07-1add b8-0205"),
        ("EMAIL_IDS", "5b-dd80-9f8a27ab 07-1add-8af336bb 02-fa69-c1cc4dc9 6c-71e7-27559f6b"),
        ("MESSAGE_IDS", "e149636f-ecc3f121 5c5373e0-ecf4712d c1cc4dc9-36298341 27559f6b-1400d29d"),
    ],
)
def test_the_first_ids_of_each_kind(kind: str, first: str) -> None:
    ids = getattr(identifiers, kind)
    assert [ids[position] for position in (3, 0, 2, 1)] == [first.split()[p] for p in (3, 0, 2, 1)]


def test_each_tool_draws_from_its_own_generator(world: ToolTalkWorld) -> None:
    tokens = identifiers.SESSION_TOKENS
    drawn = [world.draw(tool, tokens) for tool in ("UserLogin", "RegisterUser", "UserLogin")]
    assert drawn == [tokens[0], tokens[0], tokens[1]]


def test_a_snapshot_holds_the_generators(world: ToolTalkWorld) -> None:
    world.draw("AddAlarm", identifiers.ALARM_IDS)
    snapshot = world.snapshot()
    second = world.draw("AddAlarm", identifiers.ALARM_IDS)
    world.draw("AddAlarm", identifiers.ALARM_IDS)
    world.restore(snapshot)
    assert world.draw("AddAlarm", identifiers.ALARM_IDS) == second == identifiers.ALARM_IDS[1]
