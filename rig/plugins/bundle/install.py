"""Install rig from the folder that this file is in. It needs only Python's standard library.

`install.sh` chooses a Python and runs it. Every file is checked against its SHA-256 first. Everything stays
in this folder: the environment in .venv, and the command `rig`, which finds the models beside it.
"""

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, NoReturn

_FLAGS = {"SSE3": "pni", "AVX512": "avx512f", "AVX512_VBMI": "avx512vbmi"}
"""Linux's name for an instruction set, if that is not llama.cpp's name in small letters."""
_NOT_OF_A_PROCESSOR = {"LLAMAFILE", "OPENMP", "REPACK", "ACCELERATE", "KLEIDIAI"}
_ENVIRONMENT = (".venv", "pyvenv.cfg")
_UNPACKED = 1.2
"""The environment's disk space relative to the size of the wheels: Python compiles what it imports."""


def main() -> None:
    """Check the bundle, install it, and run `rig doctor`."""
    here = Path(__file__).resolve().parent
    try:
        bundle = json.loads((here / "bundle.json").read_text(encoding="utf-8"))
        unsuited = unsuitable(bundle)
    except (OSError, ValueError, KeyError, TypeError) as error:
        stop(f"{here / 'bundle.json'}: cannot be read: {error}; unpack the bundle again")
    if "--suits" in sys.argv[1:]:
        sys.exit(1 if unsuited else 0)
    for reason in unsuited:
        stop(reason)
    print(f"Checking {len(bundle['files'])} files.", flush=True)
    if wrong := differing(here, bundle["files"]):
        stop(f"{', '.join(wrong[:5])}: not as packed ({len(wrong)} files); unpack the bundle again")
    install(here, bundle)
    print("Installed. What rig says of it:", flush=True)
    done = subprocess.run([str(here / "rig"), "doctor"], cwd=here, check=False)
    print(f"\nStart with: {shlex.quote(str(here / 'rig'))} demo", flush=True)
    sys.exit(done.returncode)


def stop(reason: str) -> NoReturn:
    """Print a reason on one line, and exit with the code for a request that cannot be carried out."""
    print(f"install: {reason}", file=sys.stderr)
    sys.exit(2)


def unsuitable(bundle: Any) -> list[str]:
    """Return why a bundle is not for this Python, system or processor; empty if it is."""
    python = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    system = sysconfig.get_platform()
    reasons = []
    if (bundle["python"], bundle["platform"]) != (python, system):
        expected = f"{bundle['python']} on {bundle['platform']}"
        reasons.append(
            f"this bundle is for {expected}, and {sys.executable} is {python} on {system}; "
            "name another with PYTHON=/path/to/python3 sh install.sh"
        )
    kind, version = platform.libc_ver()
    if kind and (kind != bundle["libc"][0] or _numbers(version) < _numbers(bundle["libc"][1])):
        expected = " ".join(bundle["libc"])
        reasons.append(
            f"this bundle needs {expected}, but this is {kind} {version}; make one on a system this old"
        )
    if lacking := lacking_instructions(bundle["llama_cpp"]["instructions"], Path("/proc/cpuinfo")):
        reasons.append(
            f"this processor lacks {', '.join(lacking)}, which the bundle's llama.cpp was built for; "
            "make a bundle with --instructions portable"
        )
    return reasons


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def lacking_instructions(instructions: Any, cpuinfo: Path) -> list[str]:
    """Return which instruction sets, named as by llama.cpp, Linux does not list for an x86 processor."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    flags = {flag for line in lines if line.startswith("flags") for flag in line.partition(":")[2].split()}
    if not flags:
        return []
    return [
        name
        for name in instructions
        if name not in _NOT_OF_A_PROCESSOR and _FLAGS.get(name, name.lower()) not in flags
    ]


def differing(here: Path, files: Any) -> list[str]:
    """Return the files that are missing or not as they were packed."""
    return [name for name, packed in files.items() if _digest(here / name) != packed]


def _digest(path: Path) -> Any:
    """Return what a bundle lists of a file; None if it is not a readable file."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "size": file.tell()}
    except OSError:
        return None


def install(here: Path, bundle: Any) -> None:
    """Make a new environment with the wheels, installed by the bundle's own pip, and the command."""
    environment = here / _ENVIRONMENT[0]
    if environment.exists() and not (environment / _ENVIRONMENT[1]).is_file():
        stop(f"{environment}: exists and is not a Python environment; remove it")
    needed = sum(bundle["files"][f"wheels/{wheel['file']}"]["size"] for wheel in bundle["wheels"]) * _UNPACKED
    if environment.exists():
        shutil.rmtree(environment)
    if shutil.disk_usage(here).free < needed:
        stop(f"{here}: needs {needed / 1e9:.1f} GB more disk space than is free")
    print("Installing. This takes a minute or two.", flush=True)
    try:
        import venv
    except ImportError:
        stop(f"{sys.executable} lacks the module venv; install python3-venv, or choose another Python")
    venv.EnvBuilder(with_pip=False, symlinks=True).create(environment)
    (pip,) = (wheel["file"] for wheel in bundle["wheels"] if wheel["name"] == "pip")
    command = [str(environment / "bin" / "python"), str(here / "wheels" / pip / "pip")]
    options = ["--isolated", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    install = ["install", "--no-index", "--no-deps", "--require-hashes", f"--find-links={here / 'wheels'}"]
    # Environment variables for pip and Python were meant for other installations.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))}
    done = subprocess.run(
        [*command, *options, *install, "-r", str(here / "requirements.txt")],
        env={**kept, "PIP_CONFIG_FILE": os.devnull},
        check=False,
    )
    if done.returncode:
        stop("pip could not install the wheels; what it said is above")
    models, docs = (shlex.quote(str(here / name)) for name in ("models", "docs"))
    command_file = here / "rig"
    command_file.write_text(
        f"#!/bin/sh\nRIG_MODELS=${{RIG_MODELS:-{models}}}\nRIG_DOCS=${{RIG_DOCS:-{docs}}}\n"
        "export RIG_MODELS RIG_DOCS\n"
        f'exec {shlex.quote(str(environment / "bin" / "rig"))} "$@"\n',
        encoding="utf-8",
    )
    command_file.chmod(0o755)


if __name__ == "__main__":
    main()
