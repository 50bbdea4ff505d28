"""`rig card`: one page on a model file that others can read and verify."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import click

from rig.cli.options import AS_JSON, GRADED_BY, STORE, complete_runs, json_option
from rig.cli.output import form_of, print_json, printable, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.core.budget import parse_json
from rig.core.calls import ByName, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_bytes, write

CardFormat = Literal["html", "md", "json", "svg"]
NAMESPACE = "rig-card@v1"
"""The namespace of the signatures of cards."""
_PATIENCE_S = 120.0
"""How long a person may look for a passphrase, or a key on a stick."""


@verb(Verbs, default="make")
def command() -> None:
    """Make a card of an arm (`rig card RUN/ARM`) or a picture of a run, or verify what somebody gave you.

    A card is one page on a model file: what was tested, on what, the verdict with what could have been seen,
    the limits that cut answers off, the settings to get the same, and hashes.

    \b
    Examples:
      rig card latest/model-q4_k_m -o card.html                       for people
      rig card latest/model-q4_k_m -o card.json --sign ~/.ssh/id_ed25519
      rig card latest --svg                                           a picture of all arms, to post
      rig card verify card.json --model model-q4_k_m.gguf --signers allowed_signers
    """  # noqa: D301 - for click


@command.verb()
def make(
    address: str = argument("RUN/ARM", shell_complete=complete_runs),
    *,
    format_: CardFormat | None = option(
        "html for people, md for a model card, json to verify, svg as --svg.  [default: by the output's name,"
        " or md]",
        flags="--format",
    ),
    svg: bool = option(
        "Draw a picture of all arms of the run instead, to post: 1200 by 675, with sizes, rates, intervals"
        " and verdicts. The file is rig-card-RUN.svg if --output names no other."
    ),
    output: Path | None = option("The file to write.  [default: stdout]", flags="--output -o"),
    key: Path | None = option(
        "Sign the file with this private SSH key; the signature is FILE.sig.", "KEY", "--sign"
    ),
    baseline: str | None = option("The arm of the run to compare with.  [default: the first arm]", "ARM"),
    across_settings: bool = option("Compare even if the arms of the run differ in more than one setting."),
    force: bool = option("Replace files that are already there."),
    graded_by: str = GRADED_BY,
    runs: Path = STORE,
    as_json: bool = json_option("Print JSON about the file that was written, or without one the card."),
) -> None:
    """Make a card of one arm of a run, or with --svg a picture of all of them.

    RUN/ARM is an arm; RUN is enough if the run has only one. The verdict compares it with the first arm of
    its run, or with --baseline. A picture of RUN/ARM shows it beside that arm.
    """
    from rig.compare.arms import ComparisonOptions
    from rig.plugins.report import model_card, picture
    from rig.store import Runs

    if svg and format_ not in (None, "svg"):
        raise RigError(f"--svg draws a picture and --format {format_} writes a card; give one of them")
    form: CardFormat = "svg" if svg else format_ or form_of(output, get_args(CardFormat), "md")
    if output is None and svg:
        output = Path(f"rig-card-{'-'.join(re.findall('[0-9A-Za-z]+', address))[:80]}.svg")
    if output is None and key is not None:
        raise RigError("--sign signs a file; name it with --output")
    with Runs.open(runs, graded_by) as stored:
        question = ComparisonOptions(baseline, across_settings=across_settings, one_will_do=True)
        if form == "svg":
            text = picture.as_svg(picture.picture_of(stored, address, question))
        else:
            card = model_card.card_of(stored, address, question)
            forms = {"html": model_card.as_html, "md": model_card.as_markdown, "json": model_card.as_json}
            text = forms[form](card)
    if output is None:
        print_json(parse_json(forms["json"](card))) if as_json else click.echo(printable(text), nl=False)
        return
    signature = _sign(text.encode(), key) if key else None
    write(text, output, force=force)
    signed = ""
    if signature is not None:
        write(signature, _signature_of(output), force=force)
        signed = f", signed in {_signature_of(output)}"
    if as_json:
        print_json({"output": str(output), "format": form, "signature": key and str(_signature_of(output))})
    else:
        say(f"wrote {output} ({form}){signed}")


@dataclass(frozen=True, slots=True)
class CardCheck(ByName):
    """One check of a card: whether it holds (None if that is unknown), and what was found."""

    name: str
    is_good: bool | None
    text: str


@command.verb()
def verify(
    card: Path = argument("FILE"),
    *,
    model: str | None = option("Also compare the hash of this file with the card's.", "MODEL"),
    signers: Path | None = option(
        "Who may have signed it: a file with a line `NAME ssh-ed25519 KEY` for each, as for ssh-keygen.",
        "FILE",
    ),
    as_json: bool = AS_JSON,
) -> int:
    """Verify a card: who signed it, that its numbers follow from its rows, and that it is of a file.

    What a card says of a run cannot be computed from the card, and rig names it. Without a signature, anyone
    can have written all of it.

    FILE is a card as JSON; the signature is read from FILE.sig, if there is one. Pages, Markdown and
    pictures can be signed, too, and only their signature can be verified. The exit code is 1 if anything is
    wrong, or if --signers is given and none of them signed it.
    """
    from rig.plugins.llama.files.caches import sha256_of
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.report import card_check

    checks = [_signature_check(card, signers)]
    about: JsonObject = {}
    if card.suffix.lower() in (".html", ".md", ".svg"):
        if model is not None:
            raise RigError(f"{card}: --model needs the card as JSON; pages and pictures are only for people")
    else:
        about = card_check.read_card(card)
        change = card_check.change_fault(about)
        checks.append(CardCheck("content", change is None, change or "every part is as rig wrote it"))
        fault = card_check.sums_fault(about)
        checks.append(CardCheck("numbers", fault is None, fault or card_check.COMPUTED))
        checks.append(CardCheck("not computed", None, card_check.NOT_COMPUTED))
    if model is not None:
        digest, actual = about["subject"].get("file_sha256"), sha256_of(inspect(resolve(model).path).path)
        text = f"{model} is the file that was tested"
        if digest != actual:
            text = f"{model} has SHA-256 {actual}, the card is of {digest!r:.80}"
        checks.append(CardCheck("model", digest == actual, text))
    if as_json:
        print_json({"card": str(card), "checks": [check.as_json() for check in checks]})
    else:
        words = {True: "ok", False: "WRONG", None: "-"}
        for check in checks:
            say(" ".join(f"{words[check.is_good]:5}  {check.name}: {check.text}".split("\n")))
    return int(any(check.is_good is False for check in checks))


def _signature_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sig")


def _sign(data: bytes, key: Path) -> str:
    """Return the signature of these bytes with a private key. Raises RigError if that fails.

    It only says who vouches for them: a signature that was made for something else, such as a commit, does
    not pass.
    """
    if not key.is_file():
        raise RigError(f"{key}: is not a file; name a private key, such as ~/.ssh/id_ed25519")
    code, signature, output = _ssh_keygen("sign", data, "-f", key.absolute(), "-n", NAMESPACE)
    if code:
        raise RigError(f"{key}: ssh-keygen did not sign: {output}")
    return signature


def _signature_check(card: Path, signers: Path | None) -> CardCheck:
    """Check whether a file's signature fits it and is by one of the `signers`, a file as ssh-keygen takes it.

    Without signers, check only that it fits. Raises RigError for files that cannot be read.
    """
    signature = _signature_of(card)
    if not signature.exists():
        text = f"anyone can have written this card: there is no {signature.name} beside it"
        return CardCheck("signature", None if signers is None else False, text)
    data = read_bytes(card)
    read_bytes(signature)
    name, code, place = "", 0, ("-n", NAMESPACE, "-s", signature.absolute())
    if signers is None:
        code, _, output = _ssh_keygen("check-novalidate", data, *place)
    else:
        read_bytes(signers)
        allowed = ("-f", signers.absolute())
        unknown, names, _ = _ssh_keygen("find-principals", b"", *place[2:], *allowed)
        name = names.split("\n")[0].split(",")[0]
        code, output = 1, f"no key of {signers} made it"
        if not unknown and name:
            code, _, output = _ssh_keygen("verify", data, *allowed, "-I", name, *place)
    if code:
        return CardCheck("signature", False, f"not of this file by these signers: {output}")
    if signers is None:
        return CardCheck("signature", None, f"{output}; --signers FILE says whose key that is")
    return CardCheck("signature", True, f"by {name}: {output}")


def _ssh_keygen(action: str, data: bytes, *arguments: str | Path) -> tuple[int, str, str]:
    """Run `ssh-keygen -Y`, offline. Return its exit code, its stdout, and all its output on one line."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise RigError("signatures need ssh-keygen, which is not installed; it is part of OpenSSH >= 8.0")
    try:
        command = [program, "-Y", action, *arguments]
        done = subprocess.run(command, input=data, capture_output=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise RigError(f"ssh-keygen gave no answer within {_PATIENCE_S:g} s") from error
    except OSError as error:
        raise RigError(f"{program}: cannot be run: {error.strerror}") from error
    text = " ".join((done.stdout + b" " + done.stderr).decode("utf-8", "replace").split())[:300]
    return done.returncode, done.stdout.decode("utf-8", "replace"), text or f"exit code {done.returncode}"
