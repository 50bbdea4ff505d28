"""How far the scripted user tells what recorded users told: the figures of docs/lab/autode.md.

    python benchmarks/autode/scripted_user.py CHECKOUT [--rules]

CHECKOUT is one of github.com/hlmu/AutoDE. To each recorded question the scripted user answers with the
recorded conversation behind it. What counts is which slots an answer tells for the first time. `--rules`
leaves the model out that reads what assistants say. The rules were made with half of the dialogues in view;
the other half is `unseen`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.plugins.autode import checkout
from rig.plugins.autode.hearing import Read
from rig.plugins.autode.questions import Alike
from rig.plugins.autode.scenarios import ASSISTANT, USER, Scenario, Utterance
from rig.plugins.autode.scripted_user import answer, hearing, missing, similarity
from rig.plugins.papers import autode as recorded

DYNAMIC = (
    ("Code Llama, human", "a_codellama13b_oasst_human_good_complementary"),
    ("Llama 70B, human", "a_llama70b_human"),
    ("GPT-3.5, human", "u_human_a_gpt35_complementary"),
    ("GPT-3.5, GPT-3.5", "u_gpt35_a_gpt35_v2"),
    ("GPT-3.5, Llama-2-7B", "u_llama7b_a_gpt35_complementary"),
)
"""Assistant and user, and the recorded file."""


@dataclass
class Tally:
    """Of a file: questions, and dialogues with a question, with what was told in them."""

    questions: int = 0
    same: int = 0
    covered: int = 0
    told_by_both: int = 0
    told: int = 0
    told_by_us: int = 0
    dialogues: int = 0
    same_dialogues: int = 0

    def add(self, answers: list[tuple[set[str], set[str]]]) -> None:
        """Take in a dialogue: for each question the slots that the recorded user told, and those we told."""
        if not answers:
            return
        self.dialogues += 1
        self.same_dialogues += all(theirs == ours for theirs, ours in answers)
        for theirs, ours in answers:
            self.told_by_both += len(theirs & ours)
            self.told += len(theirs)
            self.told_by_us += len(ours)
            if theirs:
                self.questions += 1
                self.same += theirs == ours
                self.covered += theirs <= ours

    def row(self) -> str:
        """The figures as cells of a table."""
        parts = (
            (self.same, self.questions),
            (self.covered, self.questions),
            (self.told_by_both, self.told),
            (self.told_by_both, self.told_by_us),
            (self.same_dialogues, self.dialogues),
        )
        rates = " | ".join(f"{part / whole:.1%}" for part, whole in parts)
        return f"{self.questions} | {rates} | {self.dialogues}"


def main() -> None:
    place = Path(sys.argv[1])
    read: Read | None = None if "--rules" in sys.argv else hearing()
    scenarios = {each.id: each for each in checkout.load(place)}
    print("| assistant, user | dialogues | questions | same slots | all of them | recall | precision", end="")
    print(" | same dialogue | with questions |\n| --- | --- |" + " ---: |" * 7)
    for name, file in DYNAMIC:
        path = place / "results" / f"{file}.jsonl"
        if not path.is_file():
            continue
        halves = {"seen": Tally(), "unseen": Tally()}
        for record in recorded.read(path):
            half = "unseen" if int(record.uuid[:2], 16) % 2 else "seen"
            halves[half].add(list(answers(record, scenarios[record.uuid], similarity(), read)))
        for half, tally in halves.items():
            print(f"| {name} | {half} | {tally.row()} |")


def answers(
    record: recorded.DialogueRecord, scenario: Scenario, alike: Alike, read: Read | None
) -> Iterator[tuple[set[str], set[str]]]:
    """For each of the assistant's messages that was answered: what was told for the first time, by either."""
    said = [Utterance(USER, scenario.query), *record.said] if record.is_cut else list(record.said)
    own: list[str] = []
    for (role, text), (_, reply) in zip(said, [*said[1:], ("", "")], strict=True):
        if role == USER:
            own.append(text)
        elif role == ASSISTANT and reply:
            yield told(scenario, own, reply), told(scenario, own, answer(scenario, own, text, alike, read))


def told(scenario: Scenario, own: list[str], reply: str) -> set[str]:
    """The slots that a reply tells and nothing before it did. Of truth values nobody can tell."""
    return set(missing(scenario, own)) - set(missing(scenario, [*own, reply]))


if __name__ == "__main__":
    main()
