"""The real model in both roles: killed in the midst of a dialogue, it goes on to the same one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed_runs import kill_at_every_event, messages

Rig = Callable[..., Any]

OPTIONS = "--method dynamic --similarity exact --tools exact --only AddAlarm-easy --set max_rounds=2"
SMALL = "--exact --threads 1 --max-tokens 40 --display none"
KILLED_AT = 46
"""Which event: between what the user says in the second turn, and the end of the assistant's answer."""


@pytest.mark.slow
@pytest.mark.model
def test_both_roles_from_one_file_resumed_after_a_kill(rig: Rig, smollm2: Path, tmp_path: Path) -> None:
    asked = ("run", str(smollm2), "--user", str(smollm2), *OPTIONS.split(), *SMALL.split())
    killed, whole = kill_at_every_event(tmp_path, *asked, first=KILLED_AT, step=10_000)
    assert [place[1:4] for place in messages(killed)] == [(0, 0, "assistant")]
    rig("run", "--resume", "latest", "--runs", killed, "--display", "none")
    assert messages(killed) == messages(whole)
    assert {role for _, _, _, role, *_ in messages(whole)} == {"assistant", "user"}
    (arm,) = rig("show", "latest", "--runs", whole, "--json").json["arms"]
    assert arm["fingerprint"]["role.user.file_sha256"] == arm["fingerprint"]["model.file_sha256"]
