"""A local model as author: it chooses what conversations are about and rewords them.

Nothing that it writes is trusted. A wording is kept only if the grader of texts finds that it means the same.
A conversation is kept only if its calls still follow from it: it must pass the checks of the desk, and the
same model, given the new words, must make the same calls. So little of a small model's work is kept.
Proposing a scenario from three sampled tools, one of them required, follows ToolTalk (arXiv 2311.10775,
appendix B).
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from rig import methods
from rig.core.events import Where
from rig.core.models import Model, Prediction, Request, StepKey, ToolDoc, UserMessage
from rig.methods.episode import course
from rig.plugins.author.desk import Proposal, Rejected
from rig.plugins.author.scenes import Scene
from rig.plugins.text.reading.lexicon import vocabulary
from rig.scoring import load as load_similarity
from rig.scoring.similarity import Meaning
from rig.world.spec import FREE_TEXT
from rig.world.toolbox import Toolbox

SAMPLED = 3
"""How many tools a scenario is proposed from; the first must be used."""
_LONGEST = 2.5
"""A reworded line may have this many times the characters of the old one, plus 40."""
_BENDING = vocabulary(
    "perhaps maybe possibly not don't never no only but if unless except instead actually or yesterday would"
)
"""Words that can change the meaning of a line, so that no wording may add or drop one."""
_SIDES = {"user": "a user who talks to an assistant", "assistant": "an assistant who talks to a user"}


class ModelAuthor:
    """A model that chooses scenes and rewords lines.

    `wordings` counts the lines that are `kept`, and the others by the reason why they are not. `picks` are
    its choices of scenes, so that they can be repeated.
    """

    def __init__(self, model: Model, toolbox: Toolbox, place: str | None) -> None:
        """Prepare the author; `place` is the toolbox's name on the command line. Raises RigError."""
        method = methods.first()
        values: dict[str, Any] = {option.name: option.default for option in method.options}
        values |= {"toolbox": place, "max_calls": 6}
        self._model, self._toolbox = model, toolbox
        self._setup, self._settings = method.ready(values), method.settings(values)
        self._similarity = load_similarity(values["similarity"])
        self.wordings: Counter[str] = Counter()
        self.picks: list[str] = []
        self._repeated: deque[str] = deque()
        self._is_ready = False

    def repeat(self, picks: Iterable[str]) -> None:
        """Make these choices again before asking the model."""
        self._repeated.extend(picks)

    def pick(self, scenes: Sequence[Scene], random: Random) -> Scene:
        """Let the model choose the next of these scenes. Raises Rejected if it chooses none of them."""
        if self._repeated:
            name = self._repeated.popleft()
        else:
            tools = list(dict.fromkeys(tool for scene in scenes for tool in scene.tools))
            sampled = random.sample(tools, min(SAMPLED, len(tools)))
            offered = [scene.name for scene in scenes if not scene.tools or {*scene.tools} & {*sampled}]
            name = self._chosen(offered, sampled)
        self.picks.append(name)
        scene = next((scene for scene in scenes if scene.name == name), None)
        if scene is None:
            raise Rejected("no choice", f"the model chose {name!r:.60}")
        return scene

    def _chosen(self, names: Sequence[str], tools: Sequence[str]) -> str:
        fields = {"scene": {"type": "string", "enum": list(names)}}
        schema = {
            "type": "object",
            "properties": fields,
            "required": ["scene"],
            "additionalProperties": False,
        }
        described = [f"{name}: {self._toolbox.tools[name].description}" for name in tools]
        asked = "\n".join(["Somebody needs the first of these tools, and perhaps the others:", *described])
        tool = ToolDoc("choose_scene", "Choose what the conversation is about.", schema)
        answer = self._ask("You plan conversations.", f"{asked}\nCall choose_scene.", (tool,))
        chosen = answer.call.arguments.get("scene") if answer.call else answer.reply
        return str(chosen or "").strip()

    def reword(self, proposal: Proposal) -> Proposal:
        """Return the conversation with its lines reworded, where the new words mean the same.

        Raises Rejected if no line was reworded, or if the model fails the reworded conversation.
        """
        source = deepcopy(proposal.source)
        changed = 0
        for turn in source["conversation"]:
            if (text := self._worded(turn["role"], turn["text"])) is not None:
                turn["text"], changed = text, changed + 1
        if not changed:
            raise Rejected("as before", "no line was worded anew")
        source["tags"] = [*source.get("tags", ()), "worded"]
        worded = Proposal(source, proposal.scenes)
        self._read(worded)
        return worded

    def _worded(self, role: str, text: str) -> str | None:
        """Return other words for a line; None if the model has none that mean the same."""
        instructions = f"You write lines of {_SIDES[role]}. Say the line in other words. Keep every fact."
        answer = self._ask(instructions, f"Line: {text}\nIn other words:")
        wording = (answer.reply or "").strip().strip('"')
        reason = self._fault(text, wording)
        self.wordings[reason or "kept"] += 1
        return None if reason else wording

    def _fault(self, text: str, wording: str) -> str:
        """Return why a wording is not kept; empty if it is."""
        if not wording:
            return "no words"
        if wording == text:
            return "unchanged"
        if len(wording) > _LONGEST * len(text) + 40 or not wording.isprintable():
            return "shape"
        if any(name in wording and name not in text for name in self._toolbox.tools):
            return "names a tool"
        words, before = (
            [word.strip(".,:;!?'\"").lower() for word in line.split()] for line in (wording, text)
        )
        if sorted(words) == sorted(before) or _BENDING & (set(words) ^ set(before)):
            return "order or doubt"
        judged = self._similarity.judge(FREE_TEXT, text, wording)
        return "" if judged.meaning is Meaning.SAME else f"{judged.meaning.value} meaning"

    def _read(self, proposal: Proposal) -> None:
        """Let the model play the conversation. Raises Rejected unless it succeeds."""
        task = methods.first().parse(proposal.source, proposal.name, "")
        episode = self._setup.start(task, self._settings, Where(0, task.name), lambda _event: None, 0)
        for _ in course(episode, dict.fromkeys(methods.first().roles, self._model)):
            pass
        if not episode.score().counts.get("successes"):
            raise Rejected("misread", proposal.name)

    def _ask(self, instructions: str, text: str, tools: tuple[ToolDoc, ...] = ()) -> Prediction:
        key = StepKey("author", 0, 0)
        if not self._is_ready:
            self._model.prepare(Request(key, instructions, tools), 1)
            self._is_ready = True
        request = Request(key, instructions, tools, "", (UserMessage(text),), False)
        return self._model.predict(request, lambda _piece: None)
