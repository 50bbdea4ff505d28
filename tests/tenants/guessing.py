"""A toy method: an assistant guesses which number a user thinks of, and hears whether it is more or less."""

from dataclasses import dataclass

from rig.methods import kit


@dataclass(frozen=True)
class Secret(kit.Task):
    name: str
    number: int
    suite: str = ""


class Guesses(kit.Episode):
    @property
    def is_over(self) -> bool:
        return len(self.played) == self.settings["most"] or "yes" in self.words

    def speak(self) -> kit.Asking:
        yield from self.ask("assistant")
        yield from self.ask("user")

    def score(self) -> kit.Score:
        return kit.Score({"hits": int("yes" in self.words), "guesses": len(self.played)})


def bisect(task: Secret, request: kit.Request) -> kit.Prediction:
    guess, step = 8, 4
    for answer in kit.words(request)[1::2]:
        guess, step = guess + (step if answer == "more" else -step), step // 2
    return kit.replied(str(guess))


def count(task: Secret, request: kit.Request) -> kit.Prediction:
    return kit.replied(str(request.key.turn + 1))


def tell(task: Secret, request: kit.Request) -> kit.Prediction:
    guess = int(kit.words(request)[-1])
    return kit.replied("yes" if guess == task.number else "more" if guess < task.number else "less")


class Guessing(kit.Method):
    name, file, task, episode = "guessing", "secrets.json", Secret, Guesses
    roles = ("assistant", "user")
    options = (kit.Option("most", 5, several=True),)
    oracles = {"bisecting": bisect, "counting": count, "honest": tell}
    knowing = {"assistant": "bisecting", "user": "honest"}
    hits = kit.Metric("hit_rate", "hits", "hits")
    guesses = kit.Metric("guesses_each", "guesses", "guesses", better="lower", format="number")
    declaration = kit.Declaration("guessing", (hits, guesses), success="hits")

    def opening(self, task: Secret, settings: object, role: str) -> kit.Request:
        return kit.Request(kit.StepKey(task.name), f"You are the {role}.", context="Numbers from 1 to 15.")


def register(registry: kit.Registry) -> None:
    registry.methods.add(Guessing())
