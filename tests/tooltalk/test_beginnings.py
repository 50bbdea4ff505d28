"""A folder is known to hold conversations from the beginnings of its files, and none is endless."""

from pathlib import Path
from time import process_time

import pytest
import small_talks

from rig.core.errors import RigError
from rig.plugins.tooltalk.conversations import MOST_TURNS, holds_conversations, parse_conversation


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("- user: Hello\n  reply: Hi\n", True),
        ('- name: a\n  turns:\n    - "user": Hello\n', True),
        ("-\n  user : Hello\n", True),
        ("users: [a]\n", False),
        ("\n" * 500_000, False),
        (" " * 500_000, False),
        ("-\t" * 250_000, False),
        ("user" + " " * 500_000, False),
    ],
)
def test_folders_of_conversations(tmp_path: Path, text: str, holds: bool) -> None:
    (tmp_path / "a.yaml").write_text(text)
    began = process_time()
    assert holds_conversations(tmp_path) is holds
    assert process_time() - began < 2


def test_a_conversation_of_thousands_of_turns_is_refused() -> None:
    source = small_talks.source("long", "Hello", ("Hi", []))
    source["conversation"] *= MOST_TURNS // 2
    assert len(parse_conversation(source, "long").turns) == MOST_TURNS
    source["conversation"] += source["conversation"][:2]
    with pytest.raises(RigError, match="long: has 3,002 turns, 3,000 at most"):
        parse_conversation(source, "long")
