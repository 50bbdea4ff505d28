"""Email and messages between users: what the user received, and sending. What is sent is not kept."""

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from rig.core.calls import Json, JsonObject
from rig.plugins.tooltalk_tools.arguments import EmailAddress, Instant, is_email, read_instant, read_range
from rig.plugins.tooltalk_tools.world import BODY, EMAIL_IDS, MESSAGE_IDS, SUBJECT, TOKEN
from rig.plugins.tooltalk_tools.world import ToolTalkWorld as World
from rig.world.spec import Composed, Equality, Match, Response, ToolError, quoted, tool

MatchType: TypeAlias = Annotated[
    Literal["any", "all"] | None, Composed(), "how many keywords must occur; default any"
]
Earliest: TypeAlias = Annotated[Instant | None, "earliest, YYYY-MM-DD HH:MM:SS"]
Latest: TypeAlias = Annotated[Instant | None, "latest, YYYY-MM-DD HH:MM:SS"]

_MOST = 5


@tool(
    "Email",
    action=False,
    injected=TOKEN,
    returns="emails: list of {email_id, date, sender, receivers, subject, body}",
    match=Match(Response.IDS, others=False, ids=("emails", "email_id")),
)
def search_inbox(
    world: World,
    query: Annotated[str | None, Composed(), "keywords in subject or body"] = None,
    match_type: MatchType = "any",
    sender: Annotated[EmailAddress | None, "sender's email address"] = None,
    start_date: Earliest = None,
    end_date: Latest = None,
) -> Json:
    """Find the 5 latest received emails that pass all filters. Give at least one filter."""
    emails = world.emails.all(world.caller().username)
    if not emails:
        return {"emails": []}
    filters = query, match_type, sender, start_date, end_date
    return {"emails": _search(world, emails, "date", ("subject", "body"), *filters)}


@tool(
    "Email",
    action=True,
    injected=TOKEN,
    returns="email_id",
    match=Match(Response.IGNORED, {"to": Equality.ADDRESSES, "subject": SUBJECT, "body": BODY}, others=False),
)
def send_email(
    world: World,
    to: Annotated[list[EmailAddress], "email addresses (not usernames)"],
    subject: Annotated[str, "subject line"],
    body: Annotated[str, "text"],
) -> Json:
    """Send an email."""
    world.caller()
    for address in to:
        if not is_email(address):
            raise ToolError(f"{quoted(address)} is not a valid email address.")
    return {"email_id": world.draw("SendEmail", EMAIL_IDS)}


@tool(
    "Messages",
    action=False,
    injected=TOKEN,
    returns="messages: list of {message_id, timestamp, sender, message}",
    match=Match(Response.IDS, others=False, ids=("messages", "message_id")),
)
def search_messages(
    world: World,
    query: Annotated[str | None, Composed(), "keywords in the message"] = None,
    match_type: MatchType = "any",
    sender: Annotated[str | None, "sender's username"] = None,
    start_date: Earliest = None,
    end_date: Latest = None,
) -> Json:
    """Find the 5 latest received messages that pass all filters. Give at least one filter."""
    username = world.caller().username
    if not world.messages.knows(username):
        return {"messages": []}
    filters = query, match_type, sender, start_date, end_date
    return {"messages": _search(world, world.messages.all(username), "timestamp", ("message",), *filters)}


@tool(
    "Messages",
    action=True,
    injected=TOKEN,
    returns="message_id",
    match=Match(Response.IGNORED, {"receiver": Equality.RECEIVER, "message": BODY}, others=False),
)
def send_message(
    world: World,
    receiver: Annotated[str, "receiver's username"],
    message: Annotated[str, "text, not empty"],
) -> Json:
    """Send a message to another user."""
    world.caller()
    if message == "":
        raise ToolError("The message must not be empty.")
    return {"message_id": world.draw("SendMessage", MESSAGE_IDS)}


def _search(
    world: World,
    records: Iterable[JsonObject],
    date_field: str,
    texts: tuple[str, ...],
    query: str | None,
    match_type: str | None,
    sender: str | None,
    start_date: str | None,
    end_date: str | None,
) -> list[JsonObject]:
    """The five most recent records that pass every filter, latest first; later than now are none.

    The words of the query are looked for inside each of the record's texts, without regard to case. An empty
    query passes everything. Raises ToolError when no filter is given, or a bad one.
    """
    if query is None and sender is None and start_date is None and end_date is None:
        raise ToolError("Give at least one of query, sender, start_date and end_date.")
    if match_type not in ("any", "all"):
        raise ToolError("match_type must be any or all.")
    start, end = read_range(read_instant, start_date=start_date, end_date=end_date)
    words = query.lower().split() if query else None
    enough = any if match_type == "any" else all
    now = world.now
    dated = []
    for record in records:
        date = read_instant(record[date_field], date_field)
        if date > now or (sender is not None and sender != record["sender"]):
            continue
        if (start is not None and date < start) or (end is not None and date > end):
            continue
        lower = [record[text].lower() for text in texts]
        if words is not None and not enough(any(word in text for text in lower) for word in words):
            continue
        dated.append((date, record))
    dated.sort(key=lambda pair: pair[0], reverse=True)
    return [record for _, record in dated[:_MOST]]
