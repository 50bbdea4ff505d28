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
        ("run ftp://127.0.0.1/x", "give a server as http://127.0.0.1:8080"),
        ("run oracle --sampling greedyy", "give greedy, author, llama.cpp, a JSON file"),
        ("run oracle --sampling temp=hot", "temp should be a valid number"),
        ("run oracle --grammar yes", "is not one of 'json', 'strict', 'none'"),
        ("run oracle --dialect lama-server", "no such dialect; choose from llama-server"),
        ("run oracle --template-set nothing", "give NAME=VALUE"),
        ("run oracle --model x.gguf", "models stand alone, as in `rig run FILE.gguf`"),
        ("run oracle --api-key x", "`--key-from VARIABLE`"),
        ("run oracle --top-p 0.9", "give `--sampling top_p=…`"),
        ("run oracle --ctx 4096", "the context is `--n-ctx N`"),
        ("run oracle --LIMIT 3", "did you mean '--limit'?"),
        ("run oracle --world nowhere", "no such world; give a file that `rig world build` made"),
        ("run oracle --conversations nowhere", "give a folder of JSON or YAML files"),
        ("suites info", "a name that `rig suites list` shows, or the path of a folder"),
        ("quantize x.gguf", "did you mean `rig models quantize`?"),
        ("tune x.gguf", "did you mean `rig models tune`?"),
        ("run latest", "`rig show latest` shows the newest run"),
        ("history oracle", "`rig run` alone plays the oracle; give a .gguf file"),
        ("runs --delete latest", "`rig runs --tui` deletes runs"),
        ("card mkae latest", "a card is of one arm, as in `rig card RUN/ARM`"),
        ("run oracle --sweep fill", "--sweep fill: give the levels too, as in fill=0,2k,8k"),
        ("run oracle --name latest", "`latest` is always the newest run; give another name"),
        ("import x.jsonl --format openai", "there is no --format openai (did you mean 'openai-chat'?)"),
        ("score nowhere/predicted", "nowhere/predicted: no such folder of predictions"),
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


def test_what_is_no_card_or_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.json").write_text('{"a": 1}')
    assert "`rig card make RUN/ARM -o FILE.json`" in fault(capsys, "card", "verify", tmp_path / "notes.json")
    assert "it is no bundle of rig" in fault(capsys, "bundle", "verify", tmp_path / "notes.json")
