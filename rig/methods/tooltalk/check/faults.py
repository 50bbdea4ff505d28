"""One thing that is wrong with a conversation file."""

from dataclasses import asdict, dataclass

from rig.calls import JsonObject


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where. `kind` is one word for counting; `turn` and `call` are positions from 0."""

    file: str
    kind: str
    text: str
    turn: int | None = None
    call: int | None = None

    def __str__(self) -> str:
        place = self.file
        if self.turn is not None:
            place += f" turn {self.turn}"
        if self.call is not None:
            place += f" call {self.call}"
        return f"{place}: {self.kind}: {self.text}"

    def as_json(self) -> JsonObject:
        """All fields, by name."""
        return asdict(self)
