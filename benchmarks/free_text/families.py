"""How often each check of free text is right, on families of rewordings.

    python benchmarks/free_text/families.py [--every N]

A family (families/*.jsonl, written for this) is a text, three rewordings that say the same, and three that
are reworded as far and differ in one thing (`what`). The text is held beside each of the six. Prints how many
are called the same, different and unclear, and of each reason to refuse a pair, how often it was wrong.
"""

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from rig.scoring.similarity import MiniLM
from rig.scoring.texts import Elsewhere, Meaning
from rig.tooltalk.world import KINDS

FAMILIES = Path(__file__).resolve().parent / "families"


def judged(every: int) -> Iterator[tuple[bool, Meaning, str]]:
    """Whether the pair is the same, what the grader says, and why."""
    minilm = MiniLM()
    for path in sorted(FAMILIES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[::every]:
            family = json.loads(line)
            for same, texts in ((True, family["same"]), (False, family["other"])):
                for text in texts:
                    judgement = minilm.judge(KINDS[family["kind"]], family["text"], text, Elsewhere())
                    yield same, judgement.meaning, judgement.reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every Nth family")
    verdicts: Counter[tuple[bool, Meaning]] = Counter()
    refused: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for same, meaning, reason in judged(parser.parse_args().every):
        verdicts[same, meaning] += 1
        if meaning is Meaning.DIFFERENT:
            refused[_sort_of(reason)][same] += 1
    for same in (True, False):
        total = sum(count for (label, _), count in verdicts.items() if label is same)
        counts = ", ".join(f"{meaning.value} {verdicts[same, meaning]}" for meaning in Meaning)
        print(f"{'the same' if same else 'different'}: {total}, of these called {counts}")
    for sort, counts_of in sorted(refused.items(), key=lambda item: -item[1].total()):
        print(f"refused for {sort}: {counts_of.total()}, wrongly {counts_of[True]}")


def _sort_of(reason: str) -> str:
    """A reason without the words of the texts."""
    if reason.endswith("have changed places"):
        return "order"
    if " is not " in reason and ":" not in reason:
        return "a small word"
    return reason.partition(":")[0] if ":" in reason else re.sub(r" by [\d.]+$", "", reason)


if __name__ == "__main__":
    main()
