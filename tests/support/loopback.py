"""The loopback interface, opened for a test, and whom it connected to."""

import _socket
import socket
from typing import Any

import pytest


def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let a test connect to 127.0.0.1 alone; every connection that is tried, as (host, port)."""
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
