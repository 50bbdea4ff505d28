"""A dial: the user shouts the first words of each line, as many as its level says."""

from dataclasses import replace

from rig.core.metrics import Metric
from rig.plugins.stress.dial import Dial


def apply(task, seed, level, toolbox):
    def hears(line):
        words = task.hears(line).split(" ")
        return " ".join([word.upper() for word in words[:level]] + words[level:])

    def count(played):
        replies = [step.prediction.reply or "" for turn in played for step in turn.steps]
        return {"loud": int(any(reply.isupper() for reply in replies))}

    return replace(task, hears=hears, counting=(*task.counting, count))


def register(registry):
    loud = Metric("shouts_back", "shouts back", "loud", better="lower")
    registry.dials.add(Dial("shouting", 0, apply, (loud,), help="How many words the user shouts"))
