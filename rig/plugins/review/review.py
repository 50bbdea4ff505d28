"""Reviewing the conversations of a suite by hand: a person keeps, changes or drops each of them."""

import json
from collections import Counter
from pathlib import Path

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import json_text, read_json, write
from rig.plugins.author.desk import Proposal, Rejected, prove
from rig.plugins.author.suite import require_no_links, source_of, written
from rig.plugins.documents.documents import from_yaml, to_yaml
from rig.world.toolbox import Simulator, Toolbox

REVIEW = "review.json.txt"
"""The file in which a folder keeps its decisions; no loader of conversations reads it."""
_DROPPED = ".dropped"
"""The ending of a dropped conversation's file, so that no loader reads it."""


class Review:
    """The review of a folder: its decisions, each stored at once, and the conversations that are `left`.

    Raises RigError for a folder without conversations.
    """

    def __init__(self, folder: Path, toolbox: Toolbox) -> None:
        self.folder = folder
        self._simulator = Simulator(toolbox.world(), toolbox)
        state = folder / REVIEW
        stored = read_json(state) if state.is_file() else {}
        if not isinstance(stored, dict) or not all(isinstance(text, str) for text in stored.values()):
            raise RigError(f"{state}: is no state of a review; delete it to begin anew")
        self.decisions: dict[str, str] = stored
        names = sorted(path.name for path in folder.glob("*.json") if path.is_file())
        if not names and not stored:
            raise RigError(f"{folder}: holds no conversations (.json) to review")
        require_no_links(folder)
        self.left = [name for name in names if name not in stored]
        self._before: list[tuple[str, str]] = []

    @property
    def counts(self) -> dict[str, int]:
        """How many conversations are kept, edited and dropped."""
        return dict(Counter(self.decisions.values()))

    def source(self, name: str) -> JsonObject:
        """Read a conversation. Raises RigError if the file holds none."""
        return source_of(self.folder / name)

    def keep(self, name: str) -> None:
        """Leave a conversation as it is."""
        self._decide(name, "kept", written(self.source(name)))

    def drop(self, name: str) -> None:
        """Take a conversation out of the suite; its file stays, under a name that is not read."""
        text = (self.folder / name).read_text(encoding="utf-8")
        (self.folder / name).rename(self.folder / f"{name}{_DROPPED}")
        self._decide(name, "dropped", text)

    def edit(self, name: str, lines: str) -> None:
        """Change the words of both sides. Raises RigError if the calls no longer follow from them."""
        source = self.source(name)
        before = (self.folder / name).read_text(encoding="utf-8")
        edited, turns = [part.value for part in from_yaml(lines, Path(name))], source["conversation"]
        words = edited[0] if len(edited) == 1 and isinstance(edited[0], list) else []
        sides = [tuple(line) if isinstance(line, dict) else () for line in words]
        if sides != [(turn["role"],) for turn in turns]:
            raise RigError("the sides and their order have to stay; only the words may change")
        for turn, line in zip(turns, words, strict=True):
            turn["text"] = str(line[turn["role"]])
        try:
            prove(Proposal(source, ()), self._simulator)
        except Rejected as error:
            raise RigError(f"the calls no longer follow from the words: {error}") from error
        (self.folder / name).write_text(written(source), encoding="utf-8")
        self._decide(name, "edited", before)

    def undo(self) -> str | None:
        """Take back the last decision made with this object and return the conversation's name."""
        if not self._before:
            return None
        name, text = self._before.pop()
        (self.folder / f"{name}{_DROPPED}").unlink(missing_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")
        del self.decisions[name]
        self.left.insert(0, name)
        self._save()
        return name

    def _decide(self, name: str, decision: str, before: str) -> None:
        self._before.append((name, before))
        self.decisions[name] = decision
        self.left.remove(name)
        self._save()

    def _save(self) -> None:
        write(json_text(self.decisions, indent=1), self.folder / REVIEW, force=True)


def lines_of(source: JsonObject) -> str:
    """Return the lines of a conversation as YAML for an editor."""
    return to_yaml([{turn["role"]: turn["text"]} for turn in source["conversation"]])


def told(source: JsonObject) -> str:
    """Return a conversation as text to read: its lines, and the calls between them."""
    lines = []
    for turn in source["conversation"]:
        for call in turn.get("apis", ()):
            request = call["request"]
            answer = json.dumps(call.get("exception") or call.get("response"), ensure_ascii=False)
            asked = json.dumps(request["parameters"], ensure_ascii=False)
            lines.append(f"      {request['api_name']}({asked}) -> {answer:.300}")
        lines.append(f"  {turn['role']}: {turn['text']}")
    return "\n".join(lines)
