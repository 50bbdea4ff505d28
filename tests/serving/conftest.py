"""The loopback interface, opened for the tests of this folder, and whom they connected to."""

import _socket
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fake_servers import Body, FakeServer, Reply
from real_servers import rig_process, with_template

TEMPLATE = Path(__file__).with_name("tools.jinja")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Lets tests connect to 127.0.0.1 alone; every connection that is tried, as (host, port)."""
    tried: list[tuple[str, int]] = []

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[:2])
        assert address[0] == "127.0.0.1", f"a test tried to connect to {address}"
        _socket.socket.connect(self, address)

    def create_connection(address: tuple[str, int], timeout: Any = None, *_: Any, **__: Any) -> socket.socket:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        if isinstance(timeout, float | int):
            made.settimeout(timeout)
        try:
            made.connect(address)
        except OSError:
            made.close()
            raise
        return made

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "create_connection", create_connection)
    return tried


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
