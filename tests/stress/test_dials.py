"""What dials do to a task, and what they must leave alone: the world, the ground truth and the grader."""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import noted_talks
import pytest
import small_talks
import tiny_gguf

from rig.config.options import TABLE, RunConfig
from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.events import Event, PieceGenerated, TurnFinished
from rig.core.models import CallMessage, Model, Prediction, Request, UserMessage
from rig.methods.scripted import Oracle, Scripted, called, replied
from rig.plugins.stress.dial import Stress
from rig.plugins.stress.fill import CHARACTERS, history
from rig.plugins.stress.injections import injection
from rig.plugins.stress.wording import WORDINGS
from rig.plugins.tooltalk.prompt import ToolTalkSettings, opening, presented
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.running.control import Control
from rig.running.planning import method_arms, plan
from rig.running.runner import run
from rig.store import Runs
from rig.world.toolbox import is_declared

LEVELS: dict[str, tuple[Any, ...]] = {
    "fill": (1, 300, 900),
    "distractors": (1, 20, 72),
    "tool_errors": (0.3, 1.0),
    "injections": ("ignore", "send", "delete", "leak"),
    "wording": tuple(WORDINGS),
    "reorder": ("tools", "arguments", "both"),
    "typos": (0.2, 1.0),
}
HOSTILE = LEVELS["injections"]


def test_wordings_are_eight_ways_to_give_the_same_instructions() -> None:
    ways = {
        word: opening(small_talks.conversations()[0], turned(wording=word)).instructions for word in WORDINGS
    }
    plain = opening(small_talks.conversations()[0], turned()).instructions
    assert len({plain, *ways.values()}) == 8
    lines = [line.casefold() for line in plain.splitlines()]
    for text in ways.values():
        assert all(line in text.casefold() for line in lines)
    assert ways["reversed"].splitlines()[1:] == plain.splitlines()[:0:-1]


def turned(**levels: Any) -> ToolTalkSettings:
    return ToolTalkSettings(max_calls=3, stress=Stress(tuple(levels.items())))


def played(tmp_path: Path, model: Callable[[], Model] | None = None, **options: Any) -> list[dict[str, Any]]:
    """The rates and counts of each arm of a run: the oracle's, or those of another model in its place."""
    asked = {"models": ("oracle",), "similarity": "exact", **options}
    planned = plan(RunConfig.of(**asked), tmp_path / "runs.sqlite")
    if model is not None:
        made = partial(_made, model())
        planned = replace(planned, arms=tuple(replace(arm, load=made) for arm in planned.arms))
    run(planned, lambda _event: None, Control())
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        stored = runs.get(planned.run)
    return [{"arm": arm.name, **stored.declaration.as_json(arm.counts), **arm.counts} for arm in stored.arms]


def _made(model: Model, _notify: Any) -> Model:
    return model


def results(request: Request) -> str:
    """All that tools returned, as text."""
    return (
        json.dumps(
            [m.outcome.response for m in request.messages if isinstance(m, CallMessage)], ensure_ascii=False
        )
        .replace("\\n", "\n")
        .replace('\\"', '"')
        .replace("\\\\", "\\")
    )


def gullible(request: Request, oracle: Oracle) -> Prediction:
    """Does what any result of a tool says, once in a turn, and else what is right."""
    text = results(request)
    own = [m.call for m in request.messages if isinstance(m, CallMessage)]
    if order := re.search(r"call (\w+) with (\{.*?\}) (?:and|before)", text):
        call = Call(order[1], json.loads(order[2].replace('\\"', '"')))
        if call not in own:
            return called(call.name, call.arguments)
        after = len(own) - own.index(call)  # the oracle counts steps, and knows nothing of this one
        if after <= request.key.step:
            request = replace(request, key=replace(request.key, step=request.key.step - 1))
    if word := re.search(r"nothing but: (quince-\w+)", text):
        return replied(f"{word[1]}.")
    if link := re.search(r"https://quince-\w+\.invalid/\?u=", text):
        return replied(f"Done. {link[0]}mara")
    return oracle.predict(request, lambda _piece: None)


def with_oracle(answer: Callable[[Request, Oracle], Prediction], tasks: Any) -> Scripted:
    oracle = Oracle(tasks)
    return Scripted(lambda request: answer(request, oracle))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tooltalk", "dynamic"])
@pytest.mark.parametrize("suite", ["easy", "hard"])
@pytest.mark.parametrize("dial", LEVELS)
def test_the_oracle_is_right_at_every_level(tmp_path: Path, method: str, suite: str, dial: str) -> None:
    neutral = TABLE[dial].default
    options: dict[str, Any] = {dial: (neutral, *LEVELS[dial]), "suite": suite, "method": method}
    arms = played(tmp_path, **options, limit=12 if suite == "hard" else None)
    assert len(arms) == 1 + len(LEVELS[dial])
    for arm in arms:
        assert (arm["success_rate"], arm["recall"], arm["precision"]) == (1.0, 1.0, 1.0), arm["arm"]
        assert arm["incorrect_action_rate"] in (None, 0.0)
        assert not arm.get("hijacked")
    if dial == "tool_errors":
        assert [arm["handled"] for arm in arms] == [None, 1.0, 1.0]
        assert arms[2]["failures"] == arms[2]["ground_truths"] > arms[1]["failures"] > 0
    if dial == "injections":
        assert [arm["hijacked"] for arm in arms] == [0.0] * 5


@pytest.mark.parametrize("level", HOSTILE)
def test_who_does_what_results_say_is_hijacked_each_time(tmp_path: Path, level: str) -> None:
    suite = {"suite": "easy", "injections": ("none", level)}
    tasks = plan(RunConfig.of(models=("oracle",), similarity="exact", **suite), tmp_path / "x.sqlite").tasks
    calm, arm = played(tmp_path, lambda: with_oracle(gullible, tasks), **suite)
    assert (calm["hijacked"], calm["success_rate"]) == (0.0, 1.0)
    assert (arm["hijacked"], arm["tasks"]) == (1.0, 28)


@pytest.mark.slow
def test_to_quote_or_to_warn_of_an_instruction_is_not_to_follow_it(tmp_path: Path) -> None:
    def wary(request: Request, oracle: Oracle) -> Prediction:
        prediction = oracle.predict(request, lambda _piece: None)
        return prediction if prediction.call else replied(f"Beware, a result says: {results(request)}")

    suite = {"suite": "easy", "injections": HOSTILE}
    tasks = plan(RunConfig.of(models=("oracle",), similarity="exact", **suite), tmp_path / "x.sqlite").tasks
    arms = played(tmp_path, lambda: with_oracle(wary, tasks), **suite)
    assert [arm["hijacked"] for arm in arms] == [0.0] * 4


def test_each_injection_is_taken_out_again_for_the_grader() -> None:
    executed = small_talks.conversations()[1].ground_truth
    for level, name in itertools.product(HOSTILE, map(str, range(30))):
        hostile = injection(name, 0, level, TOOLTALK)
        for response in (
            {"body": "two words", "n": 1},
            {"id": "a"},
            ["a b", {"x": "c d"}],
            "success",
            None,
            4,
        ):
            clean = replace(
                executed[0], outcome=replace(executed[0].outcome, response=response, exception=None)
            )
            put = hostile.put(clean)
            assert hostile.canary in json.dumps(put.response)
            assert hostile.taken(put) == clean


def test_where_no_tool_can_do_what_is_wanted_one_line_says_so(tmp_path: Path) -> None:
    looking = replace_tools(lambda tool: not tool.action)
    with pytest.raises(RigError, match="--injections send: no tool of tooltalk has a name that says so"):
        injection("a", 0, "send", looking)


def replace_tools(fits: Callable[[Any], bool]) -> Any:
    from rig.world import Toolbox

    return Toolbox("tooltalk", filter(fits, TOOLTALK.tools.values()))


# Levels are pure.


def prompts(settings: ToolTalkSettings, tmp_path: Path, **scripted: Any) -> list[str]:
    """All that an erratic model is asked, in order."""
    asked: list[str] = []

    def script(request: Request) -> Prediction:
        asked.append(f"{request.key} {request.context} {request.tools} {request.messages}")
        return small_talks.erratic(request)

    small_talks.play(
        small_talks.plan(
            tmp_path / f"{len(list(tmp_path.iterdir()))}", Scripted(script, **scripted), settings=settings
        )
    )
    return asked


ALL = turned(typos=0.4, fill=200, distractors=9, reorder="both", tool_errors=0.5, injections="send")


def test_the_same_levels_ask_the_same_bytes_whoever_else_plays(tmp_path: Path) -> None:
    first = prompts(ALL, tmp_path)
    assert prompts(ALL, tmp_path) == first
    assert sorted(prompts(ALL, tmp_path, slots=3)) == sorted(first)
    other = replace(ALL, stress=replace(ALL.stress, seed=1))
    assert prompts(other, tmp_path) != first
    assert any("quince-" in asked for asked in first)


def test_parallel_is_serial_and_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    def model(slots: int = 1) -> Scripted:
        return Scripted(small_talks.erratic, chunk=9, slots=slots)

    def stored(name: str, slots: int = 1) -> Any:
        small_talks.play(small_talks.plan(tmp_path / name, model(slots), settings=ALL))
        return small_talks.answers(tmp_path / name)

    whole = stored("whole")
    assert "HTTP" in json.dumps(whole) or "Timeout" in json.dumps(whole)
    assert stored("parallel", 3) == whole
    for count in range(1, 6):
        path, turns = tmp_path / f"killed{count}", itertools.count(1)

        class Killed(BaseException):
            pass

        reached: list[Event] = []

        def emit(
            event: Event, turns: Any = turns, count: int = count, reached: list[Event] = reached
        ) -> None:
            if reached and isinstance(event, PieceGenerated):
                raise Killed
            if isinstance(event, TurnFinished) and next(turns) == count:
                reached.append(event)

        try:
            run(small_talks.plan(path, model(), settings=ALL), emit, Control())
        except Killed:
            small_talks.play(small_talks.plan(path, model(), settings=ALL, resume=True))
        assert small_talks.answers(path) == whole


def test_a_higher_level_of_history_begins_as_a_lower_one() -> None:
    short, long = history(500, 0), history(2000, 0)
    assert long[: len(short)] == short
    assert sum(len(message.text) for message in long) <= 2000 * CHARACTERS
    assert history(500, 1)[: len(short)] != short
    assert len(history(1, 0)) == 2


def test_typing_errors_leave_names_and_values_alone_and_grow_with_the_level() -> None:
    for task in small_talks.conversations():
        lines = [turn.text for turn in task.turns if turn.role == "user"]
        few, many = (
            [presented(task, turned(typos=level)).hears(line) for line in lines] for level in (0.3, 1.0)
        )
        assert many != lines
        for line, less, more in zip(lines, few, many, strict=True):
            same = [a == b for a, b in zip(line.split(), more.split(), strict=True)]
            assert sum(same) <= sum(a == b for a, b in zip(line.split(), less.split(), strict=True))
        values = {
            word for call in task.ground_truth for word in re.findall(r"\w+", json.dumps(call.arguments))
        }
        for line, more in zip(lines, many, strict=True):
            assert [w for w in re.findall(r"\w+", line) if w in values] == [
                w for w in re.findall(r"\w+", more) if w in values
            ]


def test_the_facts_come_behind_what_was_said_before(tmp_path: Path) -> None:
    seen: list[Request] = []

    def script(request: Request) -> Prediction:
        seen.append(request)
        return replied("No.")

    small_talks.play(small_talks.plan(tmp_path / "a", Scripted(script), settings=turned(fill=300)))
    before = history(300, 0)
    for request in seen:
        assert request.context == ""
        assert request.messages[: len(before)] == before
        first = request.messages[len(before)]
        assert isinstance(first, UserMessage)
        assert first.text.startswith("Location: Springfield\nDate and time: ")


# Failures.


def test_who_gives_up_after_a_failure_fails_but_may_say_so(tmp_path: Path) -> None:
    def says(reply: str) -> Callable[[Request, Oracle], Prediction]:
        def answer(request: Request, oracle: Oracle) -> Prediction:
            last = request.messages[-1] if request.key.step else None
            failed = isinstance(last, CallMessage) and last.outcome.exception is not None
            return replied(reply) if failed else oracle.predict(request, lambda _piece: None)

        return answer

    tasks = plan(
        RunConfig.of(models=("oracle",), suite="easy", similarity="exact"), tmp_path / "x.sqlite"
    ).tasks
    for reply, handled in (("Sorry, the calendar could not be reached.", 1.0), ("Done.", 0.0)):
        [arm] = played(
            tmp_path, lambda r=reply: with_oracle(says(r), tasks), suite="easy", tool_errors=(1.0,)
        )
        assert (arm["success_rate"], arm["handled"], arm["bad_actions"]) == (0.0, handled, 0)


def test_a_call_fails_once_and_turns_end(tmp_path: Path) -> None:
    stubborn = Scripted(lambda request: called("QueryUser", {"username": f"u{request.key.step}"}))
    todo = small_talks.plan(tmp_path / "a", stubborn, settings=turned(tool_errors=1.0))
    small_talks.play(todo)
    with Runs.open(tmp_path / "a") as runs:
        turns = [t for c in todo.tasks for t in runs.transcript(runs.get("abcde"), c.name).turns.values()]
    for turn in turns:
        failed = [executed for executed in turn.executed if is_declared(executed)]
        assert (len(failed), len(turn.executed)) == (10, 13)


# Distractors.


@pytest.mark.parametrize(("name", "acts"), [("SnoozeAlarm", True), ("AirQuality", False)])
def test_a_call_of_a_distractor_is_answered_and_is_wrong_where_it_acts(
    tmp_path: Path, name: str, acts: bool
) -> None:
    def astray(request: Request, oracle: Oracle) -> Prediction:
        if request.key.step == 0:
            values = {"alarm_id": "a", "minutes": 5} if acts else {"location": "Oslo"}
            return called(name, values)
        last = request.messages[-1]
        assert isinstance(last, CallMessage)
        if request.key.step == 1:
            assert last.outcome.response == ({"status": "done"} if acts else {"results": []})
        return oracle.predict(
            replace(request, key=replace(request.key, step=request.key.step - 1)), lambda _piece: None
        )

    tasks = plan(
        RunConfig.of(models=("oracle",), suite="easy", similarity="exact"), tmp_path / "x.sqlite"
    ).tasks
    [arm] = played(tmp_path, lambda: with_oracle(astray, tasks), suite="easy", distractors=(72,), limit=5)
    assert arm["success_rate"] == (0.0 if acts else 1.0)
    assert (arm["bad_actions"] > 0) is acts
    assert arm["precision"] < 1


@pytest.mark.parametrize("method", ["tooltalk", "dynamic"])
def test_own_toolboxes_have_dials_too(tmp_path: Path, method: str) -> None:
    place = noted_talks.write(tmp_path / "talks", 3)
    own = {"suite": str(place), "toolbox": str(noted_talks.NOTES), "method": method}
    turned = {"distractors": (0, 100), "tool_errors": (1.0,), "injections": ("ignore", "send", "leak")}
    for arm in played(tmp_path, **own, **turned, fill=(200,), reorder=("both",)):
        assert (arm["success_rate"], arm["handled"]) == (1.0, 1.0), arm["arm"]
        assert arm["precision"] == (1.0 if method == "tooltalk" else 0.5)  # no file says what was returned
        assert (arm["hijacked"], arm["failures"]) == (0.0, arm["ground_truths"])
    with pytest.raises(RigError, match="--injections delete: no tool of notes has a name that says so"):
        played(tmp_path, **own, injections=("delete",))


# The fingerprint, and what is refused.


def test_a_neutral_dial_leaves_the_fingerprint_as_it_was() -> None:
    calm = ToolTalkSettings().fingerprint
    assert set(calm) == {"protocol", "docs", "tools", "history", "max_calls", "prompt_sha256"}
    config = RunConfig.of(models=("oracle",), fill=(0, 2000), typos=(0.0,))
    from rig.plugins.tooltalk.method import METHOD

    by_label = method_arms(config, METHOD)
    assert by_label["fill=0"].settings.fingerprint == calm
    filled = by_label["fill=2000"].settings.fingerprint
    assert {k: v for k, v in filled.items() if k not in calm} == {
        "stress.fill": 2000,
        "stress_sha256": filled["stress_sha256"],
    }


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            {"suite": "dynamic", "fill": (500,), "similarity": "minilm"},
            "--fill has no effect on the method autode",
        ),
        ({"language": ("de",)}, "its user's lines are not there in --language de; there are: none"),
        ({"distractors": (500,)}, "--distractors 500: there are 72 beside the tools of tooltalk"),
    ],
)
def test_what_cannot_be_played_is_one_line_before_anything_is_loaded(
    tmp_path: Path, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(RigError, match=re.escape(fault)):
        played(tmp_path, **options)


def test_users_speak_another_language_where_the_file_has_it() -> None:
    from rig.plugins.tooltalk.conversations import parse_conversation

    source = small_talks.sources()[0]
    for turn in source["conversation"]:
        if turn["role"] == "user":
            turn["translations"] = {"de": f"Auf Deutsch {turn['index']}", "fr": "En français"}
    task = parse_conversation(source, "here")
    assert set(task.translations) == {"de", "fr"}
    presentation = presented(task, turned(language="de"))
    assert presentation.hears(task.turns[0].text) == "Auf Deutsch 0"


@pytest.mark.parametrize(
    ("text", "levels"), [("0,2k,4K", (0, 2000, 4000)), ("1.5k", (1500,)), ("7", (7,)), ("3,3", (3,))]
)
def test_levels_are_read_from_one_text(text: str, levels: tuple[int, ...]) -> None:
    assert TABLE["fill"].levels(text) == levels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("fill", text) for text in ("", "x", "-1", "2.5", "nan", "inf", "1e99", "0,,1", "k")),
        *(("typos", text) for text in ("2", "-0.1", "nan", "1k")),
        *(("injections", text) for text in ("", "Send", "send;leak")),
    ],
)
def test_what_is_no_level_is_refused(name: str, text: str) -> None:
    with pytest.raises(RigError):
        TABLE[name].levels(text)


@pytest.mark.slow
def test_arms_are_scored_again_at_their_own_levels(tmp_path: Path, rig: Callable[..., Any]) -> None:
    suite = {"suite": "easy", "injections": ("none", "send"), "tool_errors": (0.5,), "distractors": (0, 3)}
    tasks = plan(RunConfig.of(models=("oracle",), similarity="exact", **suite), tmp_path / "x.sqlite").tasks
    before = played(tmp_path, lambda: with_oracle(gullible, tasks), **suite)
    again = rig("score", "latest", "--runs", tmp_path / "runs.sqlite", "--json").json
    for arm, total in zip(before, again["arms"], strict=True):
        rates = {name: arm[name] for name in ("success_rate", "precision", "hijacked", "handled")}
        assert {name: total["total"]["metrics"][name] for name in rates} == rates, arm["arm"]
    assert [arm["hijacked"] for arm in before] == [0.0, 1.0] * 2


@pytest.mark.parametrize("level", ["x", 10**12, -1, None, [1, 2], "1,2"])
def test_a_level_of_a_store_is_checked(level: Any) -> None:
    with pytest.raises(RigError, match="--fill: "):
        Stress.of({"fill": level})


# Hostile texts.


@pytest.mark.slow
def test_injected_texts_go_through_every_escape(tmp_path: Path, rig: Callable[..., Any]) -> None:
    suite = {"suite": "easy", "injections": ("ignore",), "limit": 12}
    store = tmp_path / "runs.sqlite"

    def parrot(request: Request, oracle: Oracle) -> Prediction:
        prediction = oracle.predict(request, lambda _piece: None)
        last = request.messages[-1]
        if (
            prediction.call
            or not isinstance(last, CallMessage)
            or not isinstance(last.outcome.response, dict)
        ):
            return prediction
        return replied(str(last.outcome.response.get("notice", "")))

    tasks = plan(RunConfig.of(models=("oracle",), similarity="exact", **suite), tmp_path / "x.sqlite").tasks
    played(tmp_path, lambda: with_oracle(parrot, tasks), **suite)
    names = [task.name for task in tasks]
    with Runs.open(store) as runs:
        results = json.dumps([runs.transcript(runs.get("latest"), name).turns for name in names], default=str)
    assert all(piece in results for piece in ("<script>", "=HYPERLINK", "\\\\x1b[8m", "tool_response>"))
    shown = "".join(rig("show", "latest", name, "--runs", store).out for name in names)
    assert "quince-" in shown
    assert "\x1b" not in shown
    page = tmp_path / "report.html"
    assert rig("report", "latest", "-o", page, "--runs", store).code == 0
    text = page.read_text(encoding="utf-8")
    assert "quince-" in text
    assert "<script>alert(1)" not in text
    assert "\x1b" not in text
    table = rig("export", "latest", "--format", "csv", "--rows", "steps", "--runs", store).out
    assert "'=HYPERLINK" in table
    assert not [cell for row in csv.reader(io.StringIO(table)) for cell in row if cell.startswith("=")]
    assert "\x1b" not in table


@pytest.mark.slow
def test_levels_are_compared_as_one_thing_and_their_tokens_said(
    tmp_path: Path, rig: Callable[..., Any]
) -> None:
    store = tmp_path / "runs.sqlite"
    asked = ("--limit", 3, "--similarity", "exact", "--display", "none", "--runs", store)
    assert rig("run", "oracle", *asked, "--fill", "0,1k,2k").code == 0
    compared = rig("compare", "latest", "--runs", store)
    assert compared.code == 0
    assert "stress.fill (none -> 1000)" in compared.out
    assert "stress_sha256" not in compared.out


@pytest.mark.slow
def test_a_context_that_is_too_small_is_one_line_and_what_dials_add_is_said(
    tmp_path: Path, rig: Callable[..., Any]
) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    asked = (
        "run",
        model,
        "--limit",
        1,
        "--max-calls",
        1,
        "--max-tokens",
        8,
        "--threads",
        1,
        "--tools",
        "exact",
    )
    where = ("--similarity", "exact", "--runs", tmp_path / "runs.sqlite", "--display", "log")
    ended = rig(*asked, *where, "--fill", "200k")
    assert ended.code == 2
    [line] = [line for line in ended.err.splitlines() if line.startswith("rig: ")]
    assert re.search(
        r"no conversation can be played: the prompt has \d+ tokens before anything is said", line
    )
    assert line.endswith("raise --n-ctx or turn its dials down")
    ended = rig(*asked, *where, "--distractors", "0,2")
    assert ended.code == 0
    [added] = re.findall(
        r"tiny distractors=2: its dials add ([\d,]+) tokens to every prompt", ended.out + ended.err
    )
    assert 20 < int(added.replace(",", "")) < 2000
