"""Messages between users: what the user received, and sending. What is sent is not kept."""

from typing import Annotated, Literal

from pydantic import Field

from rig.calls import Json
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError
from rig.toolbox.formats import Instant
from rig.toolbox.spec import Composed, Equality, Match, Response
from rig.tooltalk.search import search
from rig.tooltalk.session import TOKEN, caller
from rig.tooltalk.texts import BODY
from rig.tooltalk.world import World
from rig.tooltalk.world.identifiers import MESSAGE_IDS

PLUGIN = "Messages"


@tool(
    PLUGIN,
    action=False,
    injected=TOKEN,
    returns="messages: list of {message_id, timestamp, sender, message}",
    match=Match(Response.IDS, others=False, ids=("messages", "message_id")),
)
def search_messages(
    world: World,
    query: Annotated[str | None, Composed(), Field(description="keywords in the message")] = None,
    match_type: Annotated[
        Literal["any", "all"] | None,
        Composed(),
        Field(description="how many keywords must occur; default any"),
    ] = "any",
    sender: Annotated[str | None, Field(description="sender's username")] = None,
    start_date: Annotated[Instant | None, Field(description="earliest, YYYY-MM-DD HH:MM:SS")] = None,
    end_date: Annotated[Instant | None, Field(description="latest, YYYY-MM-DD HH:MM:SS")] = None,
) -> Json:
    """Find the 5 latest received messages that pass all filters. Give at least one filter."""
    username = caller(world).username
    if not world.messages.knows(username):
        return {"messages": []}
    found = search(
        world,
        world.messages.all(username),
        date_field="timestamp",
        text=lambda message: (message["message"],),
        query=query,
        match_type=match_type,
        sender=sender,
        start_date=start_date,
        end_date=end_date,
    )
    return {"messages": found}


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="message_id",
    match=Match(Response.IGNORED, {"receiver": Equality.RECEIVER, "message": BODY}, others=False),
)
def send_message(
    world: World,
    receiver: Annotated[str, Field(description="receiver's username")],
    message: Annotated[str, Field(description="text, not empty")],
) -> Json:
    """Send a message to another user."""
    caller(world)
    if message == "":
        raise ToolError("The message must not be empty.")
    return {"message_id": world.draw("SendMessage", MESSAGE_IDS)}
