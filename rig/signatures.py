"""Signatures of files by OpenSSH's `ssh-keygen -Y`, which is on most machines and needs no network.

A signature says who vouches for these bytes, and nothing else. It is bound to a namespace, so that one that
was made for something else, such as a commit, does not pass.
"""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from rig.errors import RigError
from rig.files import LARGEST, read_bytes

_PATIENCE_S = 120.0
"""How long a person may look for a passphrase, or a key on a stick."""

_LARGEST_SIGNATURE = 1 << 16


class Signature(NamedTuple):
    """What was found of a signature. `signer` is None where nobody was named who could have made it."""

    is_good: bool
    text: str
    signer: str | None = None


def sign(data: bytes, key: Path, namespace: str) -> str:
    """The signature of these bytes with a private key. Raises RigError if there is none, in one line."""
    if not key.is_file():
        raise RigError(f"{key}: is not a file; name a private key, such as ~/.ssh/id_ed25519")
    done = _ssh_keygen(["-Y", "sign", "-f", str(key.absolute()), "-n", namespace], data)
    if done.returncode:
        raise RigError(f"{key}: ssh-keygen did not sign: {_reason(done)}")
    return done.stdout.decode("ascii", "replace")


def verify(file: Path, signature: Path, namespace: str, signers: Path | None = None) -> Signature:
    """Whether the signature is one of this file, and by whom of the `signers`, a file as ssh-keygen takes it.

    Without them, only whether it fits. Raises RigError for files that cannot be read.
    """
    data = read_bytes(file, LARGEST)
    read_bytes(signature, _LARGEST_SIGNATURE)
    place = ["-n", namespace, "-s", str(signature.absolute())]
    if signers is None:
        done = _ssh_keygen(["-Y", "check-novalidate", *place], data)
        return Signature(done.returncode == 0, _reason(done))
    read_bytes(signers, LARGEST)
    allowed = ["-f", str(signers.absolute())]
    principals = _ssh_keygen(["-Y", "find-principals", *place[2:], *allowed], b"")
    names = principals.stdout.decode("utf-8", "replace").split("\n")[0].split(",")
    if principals.returncode or not names[0]:
        return Signature(False, f"no key of {signers} made it")
    done = _ssh_keygen(["-Y", "verify", *allowed, "-I", names[0], *place], data)
    return Signature(done.returncode == 0, _reason(done), names[0])


def _ssh_keygen(arguments: list[str], data: bytes) -> "subprocess.CompletedProcess[bytes]":
    program = shutil.which("ssh-keygen")
    if program is None:
        raise RigError("signatures need ssh-keygen, which is not installed; it is part of OpenSSH >= 8.0")
    try:
        return subprocess.run([program, *arguments], input=data, capture_output=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise RigError(f"ssh-keygen gave no answer within {_PATIENCE_S:g} s") from error
    except OSError as error:
        raise RigError(f"{program}: cannot be run: {error.strerror}") from error


def _reason(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What it said, on one line."""
    text = (done.stdout + b" " + done.stderr).decode("utf-8", "replace")
    return " ".join(text.split())[:300] or f"exit code {done.returncode}"
