import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    """Makes a folder with tools and conversations, given as texts by file name; tools may be JSON values."""

    def make(name: str = "box", tools: Any = None, code: str | None = None, **conversations: str) -> Path:
        place = tmp_path / name
        (place / "conversations").mkdir(parents=True, exist_ok=True)
        if tools is not None:
            (place / "tools.json").write_text(tools if isinstance(tools, str) else json.dumps(tools))
        if code is not None:
            (place / "toolbox.py").write_text(code)
        for stem, text in conversations.items():
            (place / "conversations" / f"{stem}.yaml").write_text(text)
        return place

    return make
