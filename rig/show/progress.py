"""How far a run is."""

from rig.core import events
from rig.core.events import Event


class Progress:
    """The progress of a run over all its arms, from its events.

    It counts turns, or `conversations` if their number of turns is not known beforehand. In a resumed run,
    earlier work counts as done.
    """

    def __init__(self) -> None:
        self.run = ""
        self.unit = "turns"
        self.done = 0
        self.total = 0

    def tell(self, event: Event) -> None:
        """Record an event."""
        match event:
            case events.RunStarted():
                self.run = event.run
                turns = [conversation.turns for conversation in event.conversations]
                if not all(turns):
                    self.unit, turns = "conversations", [1] * len(turns)
                self.total = sum(turns) * len(event.arms) * event.repeats
                self.done = event.finished_turns if self.unit == "turns" else event.finished_conversations
            case events.TurnFinished() if self.unit == "turns":
                self.done += 1
            case events.ConversationFinished() if self.unit == "conversations":
                self.done += 1
            case _:
                pass
