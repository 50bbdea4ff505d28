"""Addresses of servers, and which of them rig connects to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core import opening
from rig.core.errors import RigError
from rig.plugins.served.wire.address import Address


@pytest.fixture(autouse=True)
def _nothing_allowed() -> None:
    opening.forget()


@pytest.mark.parametrize(
    ("text", "canonical", "targets"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", ("127.0.0.1",)),
        ("http://localhost:1234/v1/", "http://localhost:1234", ("127.0.0.1", "::1")),
        ("http://[::1]:8080#qwen3:4b", "http://[::1]:8080#qwen3:4b", ("::1",)),
        ("http://127.8.9.10/llm/v1#m", "http://127.8.9.10:80/llm#m", ("127.8.9.10",)),
        ("https://127.0.0.1", "https://127.0.0.1:443", ("127.0.0.1",)),
    ],
)
def test_this_machine_is_connected_to_without_a_name_being_looked_up(
    text: str, canonical: str, targets: tuple[str, ...]
) -> None:
    address = Address.parse(text)
    assert str(address) == canonical
    assert address.targets() == targets
    assert address.is_here
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        *(
            "http://10.0.0.7:8080",
            "http://example.org",
            "http://127.0.0.1.example.org",
            "http://0.0.0.0:8080",
        ),
        *("http://[2001:db8::1]:80", "http://localhost.example.org", "http://2130706433"),
    ],
)
def test_another_machine_has_to_be_allowed_each_time(text: str) -> None:
    address = Address.parse(text)
    with pytest.raises(RigError, match=r"--allow-host"):
        address.targets()
    opening.allow_hosts([address.host])
    assert address.targets() == (address.host,)
    opening.forget()
    with pytest.raises(RigError, match=r"--allow-host"):
        address.targets()


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http://user:secret@127.0.0.1",
        "http://127.0.0.1:x",
        "http://127.0.0.1?k=v",
        "http://a\x1b[2J",
    ],
)
def test_what_is_no_address_is_one_line(text: str) -> None:
    with pytest.raises(RigError) as refusal:
        Address.parse(text)
    assert "secret" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_one_line(rest: str) -> None:
    try:
        address = Address.parse(f"http://{rest}")
    except RigError:
        return
    assert address.host
