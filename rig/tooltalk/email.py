"""Email: the user's inbox, and sending. What is sent is not kept."""

from typing import Annotated, Literal

from pydantic import Field

from rig.calls import Json
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.formats import EmailAddress, Instant, is_email
from rig.toolbox.spec import Composed, Equality, Match, Response
from rig.tooltalk.search import search
from rig.tooltalk.session import TOKEN, caller
from rig.tooltalk.texts import BODY, SUBJECT
from rig.tooltalk.world import World
from rig.tooltalk.world.identifiers import EMAIL_IDS

PLUGIN = "Email"


@tool(
    PLUGIN,
    action=False,
    injected=TOKEN,
    returns="emails: list of {email_id, date, sender, receivers, subject, body}",
    match=Match(Response.IDS, others=False, ids=("emails", "email_id")),
)
def search_inbox(
    world: World,
    query: Annotated[str | None, Composed(), Field(description="keywords in subject or body")] = None,
    match_type: Annotated[
        Literal["any", "all"] | None,
        Composed(),
        Field(description="how many keywords must occur; default any"),
    ] = "any",
    sender: Annotated[EmailAddress | None, Field(description="sender's email address")] = None,
    start_date: Annotated[Instant | None, Field(description="earliest, YYYY-MM-DD HH:MM:SS")] = None,
    end_date: Annotated[Instant | None, Field(description="latest, YYYY-MM-DD HH:MM:SS")] = None,
) -> Json:
    """Find the 5 latest received emails that pass all filters. Give at least one filter."""
    emails = world.emails.all(caller(world).username)
    if not emails:
        return {"emails": []}
    found = search(
        world,
        emails,
        date_field="date",
        text=lambda email: (email["subject"], email["body"]),
        query=query,
        match_type=match_type,
        sender=sender,
        start_date=start_date,
        end_date=end_date,
    )
    return {"emails": found}


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="email_id",
    match=Match(
        Response.IGNORED,
        {"to": Equality.ADDRESSES, "subject": SUBJECT, "body": BODY},
        others=False,
    ),
)
def send_email(
    world: World,
    to: Annotated[list[EmailAddress], Field(description="email addresses (not usernames)")],
    subject: Annotated[str, Field(description="subject line")],
    body: Annotated[str, Field(description="text")],
) -> Json:
    """Send an email."""
    caller(world)
    for address in to:
        if not is_email(address):
            raise ToolError(f"{shown(address)} is not a valid email address.")
    return {"email_id": world.draw("SendEmail", EMAIL_IDS)}
