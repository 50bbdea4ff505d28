"""Mistakes at the command line: each is one line that says what to type."""

from pathlib import Path

import pytest

from rig.cli import main


def fault(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (2, 1)
    return said


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        ("run 127.0.0.1:8080", "give a server as http://127.0.0.1:8080"),
        ("run localhost:11434/v1", "give a server as http://127.0.0.1:8080"),
        ("run https://huggingface.co/a/b/resolve/main/x.gguf", "fetch the .gguf file"),
        ("run hf.co/a/b", "fetch the .gguf file"),
        ("run Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M", "fetch the .gguf file"),
        ("run llama3:8b", "a model of a server is http://127.0.0.1:11434#NAME"),
        ("run model.safetensors", "rig reads .gguf files"),
        ("run oracle --limit x", "--limit takes a whole number from 1 on, not 'x'"),
        ("run oracle --temperature 0,5", "--temperature takes a number from 0 on, not '0,5'"),
        ("run oracle --repeats two", "--repeats takes a whole number from 1 to"),
        ("run oracle -n 5", "No such option '-n'; `rig run --help-all` lists what it takes"),
        ("config set temperature 1", "write them into rig.toml"),
        ("config edit", "write them into rig.toml"),
        ("show", "Missing argument 'RUN' of `rig show`: `latest`, or a run that `rig runs` lists"),
        ("compare", "`latest`, or a run that `rig runs` lists"),
        ("models info", "a name that `rig models list` shows, or the path of a .gguf file"),
        ("export latest", "`rig export --help` says what it takes"),
        ("runs latest", "`rig show RUN` shows a run"),
        ("tools check", "the name of a toolbox, or the path of its folder"),
        ("eval x.gguf", "did you mean `rig run`?"),
        ("help run", "did you mean `rig --help`?"),
        ("leaderbord", "did you mean 'leaderboard'?"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_type(
    typed: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert remedy in fault(capsys, *typed.split())


def test_a_text_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("Some notes.\n")
    said = fault(capsys, "runs", "--runs", tmp_path / "notes.txt")
    assert "it is no run store, or a damaged one; give another file with --runs" in said
