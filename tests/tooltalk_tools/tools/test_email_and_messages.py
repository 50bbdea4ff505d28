from typing import Any

import pytest
from small_world import EMAILS, MESSAGES, fail, log_in, respond

from rig.world.toolbox import Simulator


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({"query": ""}, [1, 4, 3, 0, 6]),
        ({"query": "noodles"}, [3, 0]),
        ({"query": "NOODLES lunch"}, [3, 0]),
        ({"query": "noodles lunch", "match_type": "all"}, [0]),
        ({"query": "ood"}, [3, 0]),
        ({"query": " \n"}, []),
        ({"query": " \n", "match_type": "all"}, [1, 4, 3, 0, 6]),
        ({"query": "later"}, []),
        ({"sender": "ines@post.example"}, [6, 5]),
        ({"sender": "Ines@post.example"}, []),
        ({"start_date": "2024-03-02 08:00:00"}, [1, 4, 3]),
        ({"end_date": "2024-02-02 08:00:00"}, [6, 5]),
        ({"start_date": "2024-2-2 8:0:0", "end_date": "2024-03-01 08:00:00"}, [0, 6]),
        ({"query": "order", "sender": "theo@post.example"}, [4]),
    ],
)
def test_search_inbox(both: Simulator, arguments: dict[str, str], numbers: list[int]) -> None:
    """The latest five, latest first; of equally old ones the earlier in the inbox; none from the future."""
    assert respond(both, "SearchInbox", **arguments) == {"emails": [EMAILS[number] for number in numbers]}


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({"query": "mat"}, [1, 0]),
        ({"query": "key MAT", "match_type": "all"}, [0]),
        ({"query": "theo"}, []),
        ({"sender": "theo"}, [0]),
        ({"start_date": "2024-03-04 10:00:00", "end_date": "2024-12-31 00:00:00"}, [1]),
    ],
)
def test_search_messages(both: Simulator, arguments: dict[str, str], numbers: list[int]) -> None:
    found = {"messages": [MESSAGES[number] for number in numbers]}
    assert respond(both, "SearchMessages", **arguments) == found


WRONG: list[dict[str, Any]] = [
    {},
    {"match_type": "all"},
    {"query": "x", "match_type": "ANY"},
    {"start_date": "yesterday"},
    {"end_date": "2024-03-01"},
    {"start_date": "2024-03-02 00:00:00", "end_date": "2024-03-01 00:00:00"},
]


@pytest.mark.parametrize("arguments", WRONG)
@pytest.mark.parametrize("tool", ["SearchInbox", "SearchMessages"])
def test_a_search_is_refused(both: Simulator, tool: str, arguments: dict[str, Any]) -> None:
    assert fail(both, tool, **arguments)


@pytest.mark.parametrize("arguments", WRONG)
def test_upstream_nothing_is_asked_of_a_search_where_there_is_nothing(
    upstream: Simulator, arguments: dict[str, Any]
) -> None:
    """An empty inbox answers before it looks at the arguments; an empty message box looks first."""
    for username, refuses in (("theo", True), ("newton", False)):
        log_in(upstream, username)
        assert respond(upstream, "SearchInbox", **arguments) == {"emails": []}
        if refuses:
            assert fail(upstream, "SearchMessages", **arguments)
        else:
            assert respond(upstream, "SearchMessages", **arguments) == {"messages": []}


@pytest.mark.parametrize("query", [0, False, [], {}])
def test_upstream_an_empty_query_of_any_kind_passes_everything(upstream: Simulator, query: Any) -> None:
    assert len(respond(upstream, "SearchMessages", query=query)["messages"]) == 2
    assert fail(upstream, "SearchMessages", query=[1])


@pytest.mark.parametrize("to", [["a@b"], ["a@b", "a@b"], ["first.last-x_y@host.example"], ["a@b\n"], []])
def test_send_email(both: Simulator, to: list[str]) -> None:
    assert respond(both, "SendEmail", to=to, subject="", body="") == {"email_id": "5b-dd80-9f8a27ab"}
    assert respond(both, "SendEmail", to=to, subject="s", body="b") == {"email_id": "07-1add-8af336bb"}


@pytest.mark.parametrize("address", ["theo", "a@", "@b", "a@b@c", "a b@c", ""])
def test_send_email_to_a_bad_address(both: Simulator, address: str) -> None:
    text = fail(both, "SendEmail", to=["a@b", address], subject="", body="")
    assert text == f"{address} is not a valid email address."
    assert respond(both, "SendEmail", to=["a@b"], subject="", body="") == {"email_id": "5b-dd80-9f8a27ab"}


def test_upstream_a_string_is_a_list_of_its_letters(upstream: Simulator) -> None:
    text = fail(upstream, "SendEmail", to="olga@b", subject="", body="")
    assert text == "o is not a valid email address."
    respond(upstream, "SendEmail", to="", subject=5, body=None)
    respond(upstream, "SendEmail", to={"a@b": 1}, subject="", body="")


def test_send_message_to_anybody(both: Simulator) -> None:
    assert respond(both, "SendMessage", receiver="theo", message="Hi") == {"message_id": "e149636f-ecc3f121"}
    assert respond(both, "SendMessage", receiver="nobody", message=" ") == {"message_id": "5c5373e0-ecf4712d"}
    assert fail(both, "SendMessage", receiver="theo", message="")


def test_what_is_sent_is_not_kept(both: Simulator) -> None:
    respond(both, "SendEmail", to=["mara@post.example"], subject="Unique", body="")
    respond(both, "SendMessage", receiver="mara", message="Unique")
    assert respond(both, "SearchInbox", query="unique") == {"emails": []}
    assert respond(both, "SearchMessages", query="unique") == {"messages": []}
