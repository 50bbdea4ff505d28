"""The loopback interface, opened for the tests of this folder, and whom they connected to."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fake_servers import Body, FakeServer, Reply
from loopback import opened
from real_servers import rig_process, with_template

TEMPLATE = Path(__file__).with_name("tools.jinja")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Lets tests connect to 127.0.0.1 alone; every connection that is tried, as (host, port)."""
    return opened(monkeypatch)


@pytest.fixture
def serve(connections: list[tuple[str, int]]) -> Iterator[Callable[..., FakeServer]]:
    """Starts fake servers, which end with the test."""
    with ExitStack() as stack:

        def start(chat: Callable[[Body], Reply], **others: Any) -> FakeServer:
            return stack.enter_context(FakeServer(chat, **others).serving())

        yield start


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serving")


@pytest.fixture(scope="session")
def taught(folder: Path, smollm2: Path) -> Path:
    """The taught model as one file, which servers can load."""
    file = folder / "taught.gguf"
    merged = rig_process("models", "merge", "smollm2-135m-tools", "--to", "q8_0", "-o", file, folder=folder)
    assert merged.returncode == 0, merged.stderr
    return file


@pytest.fixture(scope="session")
def taught_tools(folder: Path, taught: Path) -> Path:
    """The same with a chat template that shows tools."""
    return with_template(taught, TEMPLATE.read_text(), folder / "taught-tools.gguf")
