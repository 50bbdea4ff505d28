"""rig's own form stays what it is, word for word: stored runs are compared with those of today."""

import hashlib
import json

import pytest
from rig_form import TEMPLATE

from rig.config.engine import GrammarArm
from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, ReplyMessage, UserMessage
from rig.plugins.llama.formats.base import RigFormat
from rig.plugins.tooltalk_tools import TOOLTALK

HISTORY = (
    UserMessage("Wake me at seven."),
    CallMessage(Call("AddAlarm", {"time": "07:00:00"}), Outcome({"alarm_id": "5bff-dd80"})),
    CallMessage(Call("FindAlarms", {}), Outcome(exception='No "alarm" ü.')),
    ReplyMessage("Done: 7:00.\nSleep well."),
)


@pytest.mark.parametrize(
    ("grammar", "descriptions", "digest"),
    [
        ("json", True, "958e79a5d886a393"),
        ("json", False, "4b22676da34c1377"),
        ("strict", True, "d8571c4f66fc740c"),
    ],
)
def test_what_models_are_told_and_may_write_is_that_of_version_1(
    grammar: GrammarArm, descriptions: bool, digest: str
) -> None:
    """Whoever changes it raises `RigFormat.version`, and then these."""
    form = RigFormat(TOOLTALK.docs(descriptions=descriptions), grammar, TEMPLATE)
    told = [form.offer()._asdict(), form.language().schema]
    shown = [[message.role, *message.parts] for message in form.write(HISTORY)]
    text = json.dumps([told, shown], ensure_ascii=False)
    assert RigFormat.version == "1"
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest
