"""The Python API: what `import rig` offers, that it stays so, and that its examples run."""

import inspect
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import CHECKOUT
from graded_talks import model, play

import rig
from rig.config.options import TABLE
from rig.plugins.lines.displays import NotebookDisplay
from rig.show import is_notebook

N = 20

SURFACE = {
    "ArmVerdict": "allowed as_json at_least decision kind seen_above text unclear",
    "Comparison": "alpha arms as_json baseline conversations declaration grader left_out metric metrics noise"
    " notes pairs recommendation resamples seed store to_dicts verdicts",
    "ConversationScore": "arm conversation counts errors rates repeat run success suite to_dict unclear",
    "PlayedArm": "arm conversations failure fingerprint model rates run scores speed steps to_dict",
    "PlayedConversation": "arm conversation repeat run state steps success suite to_dict transcript turns"
    " turns_done",
    "PlayedStep": "arguments arm bad_action cached_tokens completion_tokens conversation decode_s error"
    " error_detail exception finish_reason kind match prefill_s prompt_tokens raw reason reasoning repeat"
    " reply response role run step suite to_dict tool turn",
    "RecordTable": "count index to_dicts where",
    "RigError": "add_note args with_traceback",
    "Run": "arms compare conversations created id method name repeats rows scores settings state steps"
    " to_dict",
    "Store": "compare graded_by path run runs",
    "VerdictKind": "CANNOT_TELL GAIN LOSS NOTHING_TO_LOSE NO_LOSS_FOUND NO_RATE SUSPECTED",
    "open": "path graded_by",
    "run": "models store name display options",
}
"""Every name with its public members, or its parameters. Names may be added; none may go, or mean another."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three arms that is called `ladder`."""
    path = tmp_path_factory.mktemp("api") / "runs.sqlite"
    names = ("f16", "q2", "q8")
    models = model(N), model(N, set(range(10)), acts=True), model(N, {3})
    play(path, *models, number=N, names=names, name="ladder")
    return path


def public(value: Any) -> set[str]:
    if inspect.isfunction(value):
        return set(inspect.signature(value).parameters)
    if issubclass(value, rig.VerdictKind):
        return {member.name for member in value}
    own = {part.name for part in fields(value)} if is_dataclass(value) else set()
    return {name for name in own | set(dir(value)) if not name.startswith("_")}


def test_the_public_surface_is_what_it_was() -> None:
    offered = {name: public(getattr(rig, name)) for name in rig.__all__ if name != "__version__"}
    assert set(offered) == set(SURFACE) <= set(dir(rig))
    assert {name: set(SURFACE[name].split()) - members for name, members in offered.items()} == {
        name: set() for name in SURFACE
    }
    for name in ("open", "run"):
        assert list(inspect.signature(getattr(rig, name)).parameters) == SURFACE[name].split()
    stub = (CHECKOUT / "rig" / "__init__.pyi").read_text(encoding="utf-8")
    assert re.findall(r"import (\w+) as \1\n", stub) == sorted(SURFACE)


def test_what_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'opens'"):
        _ = rig.opens


def test_importing_rig_loads_nothing_else() -> None:
    script = (
        "import rig, sys; print(sorted(n for n in sys.modules if n.startswith(('rig.', 'numpy', 'click'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_examples_run_as_they_are(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    shutil.copy(store, tmp_path / "runs.sqlite")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIG_RUNS")
    page = (CHECKOUT / "docs" / "how-to" / "notebooks.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    assert len([line for line in blocks[0].splitlines() if line.strip()]) <= 20
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "notebooks.md", "exec"), names)
    out = capsys.readouterr().out
    assert "q2 loss found: success is 50.0 points lower" in out
    assert "1 finished ['f16', 'q2', 'q8']" in out
    assert "10 talk00 0.5" in out
    assert "AddAlarm {'time': '23:59:00'" in out
    assert "talk00, q2: # incorrect" in out
    assert "finished {'oracle docs=full': 1.0, 'oracle docs=names': 1.0}" in out
    assert (tmp_path / "ladder.png").stat().st_size > 5_000


def test_numbers_are_those_of_the_command_line(store: Path, rig_cli: Callable[..., Any]) -> None:
    ladder = rig.open(store).run("ladder")
    shown = rig_cli("compare", "ladder", "--runs", store, "--json").json
    assert rig.open(store).compare("ladder").as_json() == {
        name: value for name, value in shown.items() if name not in ("failed", "unsure")
    }
    by_arm = {arm["arm"]: arm["metrics"]["recall"] for arm in shown["arms"]}
    assert {arm.arm: arm.rates["recall"] for arm in ladder.arms} == by_arm
    exported = rig_cli("export", "ladder", "--format", "jsonl", "--runs", store).out.splitlines()
    assert len(ladder.steps) == len(exported)
    assert len(ladder.scores) == len(ladder.conversations) == 3 * N
    assert len(ladder.scores.where(arm="q2", success=True)) == 10
    assert ladder.arms[1].scores == ladder.scores.where(arm="q2")
    verdicts = ladder.compare(baseline="q8").verdicts
    assert [str(verdict.kind) for verdict in verdicts.values()] == ["no loss found", "loss found"]


@pytest.fixture(name="rig_cli")
def _cli(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("rig")


def test_rows_are_flat_and_alike(store: Path) -> None:
    run = rig.open(store).run()
    kinds = (run.arms, run.scores, run.steps, run.conversations, rig.open(store).runs)
    for rows in (*(records.to_dicts() for records in kinds), run.compare().to_dicts()):
        assert rows
        assert {tuple(row) for row in rows} == {tuple(rows[0])}
        names = [name for name in rows[0] if name not in ("arguments", "response")]
        assert not [name for row in rows for name in names if isinstance(row[name], dict | list | tuple)]


def test_a_conversation_prints_as_rig_show_does(store: Path, rig_cli: Callable[..., Any]) -> None:
    played = rig.open(store).run().conversations.where(arm="q2", conversation="talk00")[0]
    assert f"{played}\n" == rig_cli("show", "ladder", "talk00", "--arm", "q2", "--runs", store).out
    assert [step.kind for step in played.steps] == ["call", "reply", "call", "reply"]
    assert played.transcript.conversation.name == "talk00"


def test_what_a_notebook_shows_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(2), number=2, names=("<script>alert(1)</script>\u202e",))
    page = rig.open(path).run().arms._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"suit": "easy"}, "no option 'suit' (did you mean 'suite'?)"),
        ({"max-tokns": 3}, "no option 'max-tokns' (did you mean 'max_tokens'?)"),
        ({"noise": True}, "no option 'noise'"),
        ({"limit": 0}, "limit takes a whole number from 1 on, not 0"),
        ({"limit": True}, "limit takes a whole number from 1 on, not True"),
        ({"limit": [1, 2]}, "limit takes one value"),
        ({"temperature": float("nan")}, "temperature takes a number from 0 on, not nan"),
        ({"docs": ["full", "none"]}, "docs takes one of full, names, not 'none'"),
        ({"seed": None}, "seed takes a whole number from 0 to 4294967295, not None"),
        ({"flash_attention": "maybe"}, "flash_attention takes one of auto, on, off, not 'maybe'"),
        ({"suite": "easy", "conversations": "x"}, "--suite and --conversations both choose"),
        ({"suite": "esy"}, "esy"),
    ],
)
def test_options_that_the_command_line_refuses_are_refused(
    tmp_path: Path, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(rig.RigError) as refused:
        rig.run("oracle", store=tmp_path / "runs.sqlite", **options)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_every_option_can_be_given_as_it_is_by_default(tmp_path: Path) -> None:
    """As a value of Python, whatever its type. What the method does not have is left out."""
    names = [
        name for name, option in TABLE.items() if option.help and name not in ("conversations", "search")
    ]
    values = {name: TABLE[name].start for name in names}
    values |= {"n_ctx": None, "limit": 1, "similarity": "exact", "flash_attention": None}
    played = rig.run("oracle", store=tmp_path / "runs.sqlite", display="none", **values)
    assert (played.state, played.settings["limit"], played.settings["flash_attention"]) == (
        "finished",
        1,
        "auto",
    )


def test_a_run_can_be_made_outside_the_main_thread(tmp_path: Path) -> None:
    runs: list[rig.Run] = []

    def work() -> None:
        runs.append(
            rig.run("oracle", store=tmp_path / "r.sqlite", limit=1, similarity="exact", display="none")
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert runs[0].state == "finished"


def test_faults_of_stores_and_questions_are_one_line(store: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("no store")
    for ask, fault in (
        (lambda: rig.open(tmp_path / "none.sqlite"), "no such file"),
        (lambda: rig.open(tmp_path / "other"), "other"),
        (lambda: rig.open(store).run("ladr"), "did you mean 'ladder'?"),
        (
            lambda: rig.open(store).compare("ladder", metrc="recall"),
            "no option 'metrc' (did you mean 'metric'?)",
        ),
        (lambda: rig.open(store).compare("ladder/f16"), "is the only arm"),
        (lambda: rig.open(store).run("ladder").rows("flip"), "no view 'flip' (did you mean 'flips'?)"),
    ):
        with pytest.raises(rig.RigError, match=re.escape(fault)):
            ask()


def test_a_notebook_gets_a_bar_that_is_drawn_again(tmp_path: Path) -> None:
    """In a shell of IPython, which keeps what a kernel would send to the browser."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    InteractiveShell.instance()
    try:
        with capture_output() as captured:
            rig.run(
                "oracle",
                store=tmp_path / "r.sqlite",
                limit=2,
                similarity="exact",
                display="notebook",
                name="n",
            )
    finally:
        InteractiveShell.clear_instance()
    first, *_, last = [output.data["text/html"] for output in captured.outputs]
    assert first == ""
    assert re.match(r'<progress value="(\d+)" max="\1"', last)
    assert "AddReminder-easy" in last
    assert captured.stdout == ""


def test_a_kernel_is_told_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, expected in ((None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert is_notebook() is expected
    assert NotebookDisplay(sys.stdout)
