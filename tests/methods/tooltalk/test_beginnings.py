"""A folder is known to hold conversations from the beginnings of its files."""

from pathlib import Path
from time import process_time

import pytest

from rig.methods.tooltalk.conversations import holds_conversations


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
