"""Who made a call, inferred from earlier calls: files and outcomes say it, so no world is needed."""

from collections.abc import Mapping
from dataclasses import replace

from rig.calls import CallPlace, ExecutedCall
from rig.methods.tooltalk.conversations import Conversation, User
from rig.tasks import PlayedTurn
from rig.toolbox.toolbox import Toolbox


class Session:
    """Who is logged in. It follows the recorded outcomes, as a replay of the calls would."""

    def __init__(self, user: User, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self.username: str | None = user.username if user.session_token is not None else None

    def follow(self, executed: ExecutedCall) -> ExecutedCall:
        """The call with who was logged in when it was made; what it changes holds from now on."""
        named = replace(executed, username=self.username)
        tool = self._toolbox.tools.get(executed.name)
        login = None if tool is None or executed.exception is not None else tool.login
        if login == "out":
            self.username = None
        elif login == "in":
            arguments = executed.arguments if isinstance(executed.arguments, dict) else {}
            self.username = str(arguments.get("username"))
        return named


def name_truths(conversation: Conversation, toolbox: Toolbox) -> list[tuple[CallPlace, ExecutedCall]]:
    """The ground truth by place, each with who was logged in."""
    session = Session(conversation.user, toolbox)
    calls = [session.follow(truth) for truth in conversation.ground_truth]
    return list(zip(conversation.ground_truth_positions(), calls, strict=True))


def name_callers(
    conversation: Conversation, played: Mapping[int, PlayedTurn], toolbox: Toolbox
) -> dict[int, PlayedTurn]:
    """The turns with who was logged in at each call. A turn begins as the ground truth before it ended."""
    truth = Session(conversation.user, toolbox)
    named: dict[int, PlayedTurn] = {}
    for index, turn in enumerate(conversation.turns):
        if index in played:
            session = Session(conversation.user, toolbox)
            session.username = truth.username
            steps = (
                replace(step, executed=session.follow(step.executed)) if step.executed else step
                for step in played[index].steps
            )
            named[index] = replace(played[index], steps=tuple(steps))
        for call in turn.calls:
            truth.follow(call)
    return named
