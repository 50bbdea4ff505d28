"""Turns that are loops, and turns that repeat themselves harmlessly, made from a seed.

`loopers` and `harmless` are what the finding of loops is measured by: 30 and 300 of them.
"""

import json
from collections.abc import Callable, Iterator
from random import Random

from rig.core.calls import Call, ExecutedCall, Json, Outcome
from rig.core.errors import ErrorKind
from rig.core.models import Prediction
from rig.core.tasks import Step

Turn = tuple[Step, ...]

NOUNS = [
    "meeting", "invoice", "report", "alarm", "parcel", "ticket",
    "garden", "engine", "bridge", "letter", "harbour", "market",
]  # fmt: skip
VERBS = [
    "opens", "closes", "carries", "moves", "finds", "keeps",
    "sends", "reads", "counts", "brings", "follows", "leaves",
]  # fmt: skip
PLACES = [
    "in the hall", "by the river", "near the station", "at the office",
    "on Monday", "before noon", "after lunch",
]  # fmt: skip
NAMES = [
    "Ngozi Achebe", "Priya Sharma", "Tomás Ruiz", "Mei Tan",
    "Lars Holm", "Ada Byron", "Omar Haddad", "Ruth Klein",
]  # fmt: skip


def sentence(random: Random) -> str:
    words = f"the {random.choice(NOUNS)} of {random.choice(NAMES)} {random.choice(VERBS)}"
    return f"{words} the {random.choice(NOUNS)} {random.choice(PLACES)}"


def prose(random: Random, sentences: int) -> str:
    return " ".join(f"{sentence(random).capitalize()}." for _ in range(sentences))


def answer(text: str) -> Turn:
    return (Step(Prediction(raw=text, reply=text)),)


def cut(text: str) -> Turn:
    failed = Prediction(
        raw=text,
        error=ErrorKind.TRUNCATED,
        error_detail="incomplete after 256 tokens",
        finish_reason="length",
    )
    return (Step(failed),)


def made(name: str, arguments: Json, response: Json = None, exception: str | None = None) -> Step:
    raw = json.dumps({"name": name, "arguments": arguments})
    executed = ExecutedCall(Call(name, arguments), Outcome(response, exception))
    return Step(Prediction(raw=raw, call=executed.call), executed)


CAPPED = Step(Prediction(raw="{}", error=ErrorKind.CALL_CAP, error_detail="the cap is 10"))


def done(*steps: Step, text: str = "Done.") -> Turn:
    return (*steps, Step(Prediction(raw=text, reply=text)))


# Loops.


def _line_again(random: Random) -> Turn:
    return cut(f"{prose(random, 2)}\n" + f"{sentence(random)}\n" * random.randint(5, 40))


def _paragraph_again(random: Random) -> Turn:
    return cut(f"{prose(random, 1)}\n\n" + f"{prose(random, 4)}\n\n" * random.randint(4, 9))


def _sentence_within_a_line(random: Random) -> Turn:
    return answer(f"{prose(random, 1)} " + f"{sentence(random).capitalize()}. " * random.randint(5, 12))


def _numbered_items(random: Random) -> Turn:
    same = sentence(random)
    return cut("".join(f"{number}. {same}\n" for number in range(1, random.randint(8, 30))))


def _word_again(random: Random) -> Turn:
    return cut(f"{prose(random, 1)} " + f"{random.choice(NOUNS)} " * random.randint(60, 200))


def _digits(random: Random) -> Turn:
    return cut('{"reply": "Your alarm is set for 20:' + random.choice("079") * random.randint(80, 400))


def _white_space(random: Random) -> Turn:
    return cut('{"name": "ListAlarms", "arguments": {' + random.choice(["\n", " ", "\t", "\n  "]) * 250)


def _json_lines(random: Random) -> Turn:
    return cut('{"reply": "Yes: ' + f"{random.choice(NAMES)} writes: Dear {random.choice(NAMES)},\\n" * 7)


def _two_sentences_in_turn(random: Random) -> Turn:
    pair = f"{sentence(random).capitalize()}. But wait, {sentence(random)}. "
    thought = f"{prose(random, 2)} " + pair * random.randint(4, 12)
    return (Step(Prediction(raw=thought, reply="Yes.", reasoning=thought)),)


def _chinese(random: Random) -> Turn:
    return cut("好的，" + random.choice(["我会帮您设置明天早上的闹钟。", "请告诉我会议的时间和地点。"]) * 12)


def _same_call(random: Random) -> Turn:
    step = made("GetForecast", {"location": random.choice(NAMES)}, {"temperature": random.randint(1, 30)})
    return (*([step] * random.randint(4, 10)), CAPPED)


def _same_failing_call(random: Random) -> Turn:
    step = made("QueryUser", {"username": random.choice(NAMES)}, None, "user not found")
    return done(*([step] * random.randint(4, 9)), text="I could not find that user.")


def _two_calls_in_turn(random: Random) -> Turn:
    first = made("ListAlarms", {}, {"alarms": []})
    second = made("FindAlarms", {"day": random.choice(PLACES)}, {"alarms": []})
    return (*([first, second] * 5), CAPPED)


def _same_action(random: Random) -> Turn:
    note = sentence(random)
    steps = (made("AddNote", {"text": note}, {"note_id": f"{random.getrandbits(32):08x}"}) for _ in range(10))
    return (*steps, CAPPED)


def _same_call_after_others(random: Random) -> Turn:
    others = [made("GetForecast", {"location": name}, {"temperature": 7}) for name in NAMES[:3]]
    step = made("SearchInbox", {"query": random.choice(NOUNS)}, {"messages": []})
    return (*others, *([step] * random.randint(4, 7)), CAPPED)


LOOPERS: tuple[Callable[[Random], Turn], ...] = (
    _line_again, _paragraph_again, _sentence_within_a_line, _numbered_items, _word_again, _digits,
    _white_space, _json_lines, _two_sentences_in_turn, _chinese, _same_call, _same_failing_call,
    _two_calls_in_turn, _same_action, _same_call_after_others,
)  # fmt: skip


# What is no loop.


def _list(random: Random) -> Turn:
    return answer("".join(f"- {sentence(random)}\n" for _ in range(random.randint(5, 30))))


def _ticked_list(random: Random) -> Turn:
    return answer("".join(f"{n}. {random.choice(NOUNS)}: yes\n" for n in range(1, random.randint(5, 30))))


def _same_short_items(random: Random) -> Turn:
    return answer("The answers are:\n" + f"- {random.choice(['yes', 'no', 'none', 'not yet'])}\n" * 12)


def _days_alike(random: Random) -> Turn:
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    text = f"{random.choice(NOUNS)} from 9:00 to 17:00, lunch at noon, {random.choice(PLACES)}"
    return answer("".join(f"{day}: {text}\n" for day in days))


def _steps_alike(random: Random) -> Turn:
    count = random.randint(4, 12)
    return answer(
        "".join(f"Reminder {n} of {count} was created for you at {n}:00.\n" for n in range(1, count))
    )


def _table(random: Random) -> Turn:
    head = "| name | day | open | closed |\n|------|-----|------|--------|\n"
    rows = (f"| {random.choice(NOUNS)} {n} | {n} | yes | no |\n" for n in range(random.randint(4, 30)))
    return answer(head + "".join(rows))


def _empty_table(random: Random) -> Turn:
    columns = random.randint(3, 8)
    return answer(("|" + " N/A |" * columns + "\n") * random.randint(3, 5))


def _rules(random: Random) -> Turn:
    rule = random.choice("-=*_#~") * random.randint(20, 100)
    return answer(f"{rule}\n{prose(random, 2)}\n{rule}\n{prose(random, 2)}\n{rule}\n")


def _zeros(random: Random) -> Turn:
    size = random.randint(3, 9)
    return answer("[" + ",\n ".join("[" + ", ".join("0" * size) + "]" for _ in range(size)) + "]")


def _identity(random: Random) -> Turn:
    size = random.randint(3, 8)
    return answer("\n".join(" ".join("1" if row == n else "0" for n in range(size)) for row in range(size)))


def _code(random: Random) -> Turn:
    blocks = (
        f"def {random.choice(NOUNS)}_{n}(self):\n    if self.{random.choice(NOUNS)} is None:\n"
        f"        return None\n    return self.{random.choice(NOUNS)}\n\n"
        for n in range(random.randint(3, 10))
    )
    return answer("```python\n" + "".join(blocks) + "```")


def _braces(random: Random) -> Turn:
    depth = random.randint(4, 12)
    opened = "".join(f"{'  ' * n}{{\n" for n in range(depth))
    return answer(opened + "".join(f"{'  ' * n}}}\n" for n in reversed(range(depth))))


def _markup(random: Random) -> Turn:
    row = f'  <tr><td class="cell">{random.choice(NOUNS)}</td><td class="cell">0</td></tr>\n'
    return answer("<table>\n" + row * random.randint(3, 6) + "</table>")


def _records(random: Random) -> Turn:
    rows = [{"id": n, "status": "open", "owner": random.choice(NAMES)} for n in range(random.randint(4, 20))]
    return answer(json.dumps(rows, indent=1))


def _equal_records(random: Random) -> Turn:
    return answer(json.dumps([{"status": "open", "owner": None}] * random.randint(3, 7)))


def _poem(random: Random) -> Turn:
    refrain = sentence(random).capitalize()
    stanzas = (f"{prose(random, 1)}\n{prose(random, 1)}\n{refrain},\n{refrain}.\n" for _ in range(6))
    return answer("\n".join(stanzas))


def _refrain_of_three(random: Random) -> Turn:
    line = sentence(random).capitalize()
    return answer("\n\n".join(f"{prose(random, 3)}\n" + f"{line}!\n" * 3 for _ in range(3)))


def _song(random: Random) -> Turn:
    syllable = random.choice(["la", "na", "hey", "oh", "ha", "row", "alleluia"])
    return answer(f"{prose(random, 1)}\n" + f"{syllable} " * random.randint(4, 18) + f"\n{prose(random, 1)}")


def _laughter(random: Random) -> Turn:
    return answer(random.choice(["ha", "!", "😂", "…", "very "]) * random.randint(5, 25) + prose(random, 1))


def _hexadecimal(random: Random) -> Turn:
    return answer("0x" + random.choice("0f") * random.randint(16, 128) + f" is what {prose(random, 1)}")


def _form_letter(random: Random) -> Turn:
    same = prose(random, 3)
    return answer("\n\n".join(f"Dear {name},\n{same}\nYours, Ada" for name in NAMES[: random.randint(4, 8)]))


def _conjugation(random: Random) -> Turn:
    verb = random.choice(VERBS)
    people = ["I", "you", "he", "she", "it", "we", "they", "who"]
    return answer("\n".join(f"{one} {verb} the {random.choice(NOUNS)} every single day" for one in people))


def _poll(random: Random) -> Turn:
    steps = (made("GetStatus", {"job": 7}, {"progress": n}) for n in range(0, 100, random.randint(10, 25)))
    return done(*steps)


def _poll_until_done(random: Random) -> Turn:
    waiting = [made("GetStatus", {"job": 7}, {"status": "pending"})] * random.randint(1, 3)
    return done(*waiting, made("GetStatus", {"job": 7}, {"status": "done"}))


def _list_after_each_change(random: Random) -> Turn:
    left = random.sample(NOUNS, random.randint(4, 8))
    steps: list[Step] = []
    while left:
        steps += [
            made("ListNotes", {}, {"notes": list(left)}),
            made("DeleteNote", {"name": left.pop()}, "ok"),
        ]
    return done(*steps, made("ListNotes", {}, {"notes": []}))


def _check_before_each(random: Random) -> Turn:
    steps: list[Step] = []
    for name in random.sample(NAMES, random.randint(4, 7)):
        steps += [made("CurrentUser", {}, {"user": "ada"}), made("SendMessage", {"receiver": name}, "sent")]
    return done(*steps)


def _twice_more(random: Random) -> Turn:
    step = made("GetForecast", {"location": random.choice(PLACES)}, {"temperature": 7})
    return done(*([step] * random.randint(1, 3)))


def _each_name(random: Random) -> Turn:
    return done(*(made("QueryUser", {"username": name}, {"found": True}) for name in NAMES))


def _retried(random: Random) -> Turn:
    arguments = {"text": sentence(random)}
    failed = made("AddNote", arguments, None, "timed out; try again")
    return done(*([failed] * random.randint(1, 2)), made("AddNote", arguments, {"note_id": "17"}))


def _rolls(random: Random) -> Turn:
    return done(*(made("Roll", {"sides": 6}, {"value": n}) for n in random.sample(range(1, 7), 6)))


def _list_cut_off(random: Random) -> Turn:
    return cut("".join(f"- {sentence(random)}\n" for _ in range(12))[: random.randint(100, 400)])


def _table_cut_off(random: Random) -> Turn:
    return cut("".join(f"| {random.choice(NOUNS)} {n} | yes | no | {n} |\n" for n in range(30)))


HARMLESS: tuple[Callable[[Random], Turn], ...] = (
    _list, _ticked_list, _same_short_items, _days_alike, _steps_alike, _table, _empty_table, _rules, _zeros,
    _identity, _code, _braces, _markup, _records, _equal_records, _poem, _refrain_of_three, _song, _laughter,
    _hexadecimal, _form_letter, _conjugation, _poll, _poll_until_done, _list_after_each_change,
    _check_before_each, _twice_more, _each_name, _retried, _rolls, _list_cut_off, _table_cut_off,
)  # fmt: skip


def _turns(makers: tuple[Callable[[Random], Turn], ...], count: int, seed: int) -> Iterator[tuple[str, Turn]]:
    random = Random(seed)
    for number in range(count):
        make = makers[number % len(makers)]
        yield make.__name__.strip("_"), make(random)


def loopers(seed: int, count: int = 30) -> Iterator[tuple[str, Turn]]:
    """Yield turns that are loops, each with what it is."""
    return _turns(LOOPERS, count, seed)


def harmless(seed: int, count: int = 300) -> Iterator[tuple[str, Turn]]:
    """Yield turns that repeat something and are no loops, each with what it is."""
    return _turns(HARMLESS, count, seed)
