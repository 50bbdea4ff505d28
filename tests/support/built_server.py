"""llama-server built from the source that comes with llama-cpp-python, against the libraries of the wheel.

`RIG_LLAMA_CPP` names the unpacked source distribution (`pip download --no-deps --no-binary :all:
llama-cpp-python`). Its `common` and `tools/server` are compiled once, which takes minutes, and kept in rig's
cache; the model itself is computed by the very library that rig uses.
"""

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

_SOURCES = ("common", "common/jinja", "common/parsers", "tools/server", "vendor/cpp-httplib")
_IMAGES = ("tools/mtmd", "tools/mtmd/models", "vendor/hash", "vendor/hash/sha256")
"""What reads images and sound, which the server wants and rig's build of the wheel leaves out."""
_PROGRAMS = ("mtmd-cli.cpp", "deprecation-warning.cpp")
_INCLUDES = (
    "common",
    "include",
    "ggml/include",
    "vendor",
    "src",
    "tools/mtmd",
    "tools/server",
    "vendor/hash",
    ".",
)
_FLAGS = ("-O1", "-std=c++17", "-DNDEBUG", "-w")


def built_llama_server() -> Path:
    """The program, built if it is not there yet. Skips the test where it cannot be."""
    import llama_cpp

    if not (place := os.environ.get("RIG_LLAMA_CPP")):
        pytest.skip("RIG_LLAMA_CPP is not set")
    source = Path(place) / "vendor" / "llama.cpp"
    tools = [shutil.which(name) for name in ("g++", "cmake")]
    if not all(tools):
        pytest.skip("there is no compiler: building llama-server needs g++ and cmake")
    version = f"{llama_cpp.__version__}{source}{_FLAGS}"
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rig-tests"
    folder = cache / f"llama-server-{hashlib.sha256(version.encode()).hexdigest()[:12]}"
    if not (folder / "llama-server").exists():
        _build(source, folder, Path(llama_cpp.__file__).parent / "lib")
    return folder / "llama-server"


def _build(source: Path, folder: Path, libraries: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    page = {"UI_SOURCE_DIR": source / "tools" / "ui", "UI_BINARY_DIR": folder, "LLAMA_SOURCE_DIR": source}
    off = dict.fromkeys(("HF_ENABLED", "BUILD_UI", "LLAMA_UI_GZIP"), "OFF")
    defines = [f"-D{name}={value}" for name, value in {**page, **off}.items()]
    _run("cmake", *defines, "-P", str(source / "scripts" / "ui-assets.cmake"))
    info = (source / "common" / "build-info.cpp.in").read_text()
    for name in ("LLAMA_BUILD_NUMBER", "BUILD_NUMBER"):
        info = info.replace(f"@{name}@", "0")
    (folder / "build-info.cpp").write_text("vendored".join(info.split("@")[::2]))
    has_images = (libraries / "libmtmd.so").exists()
    places = _SOURCES if has_images else (*_SOURCES, *_IMAGES)
    found = [*folder.iterdir(), *(file for place in places for file in (source / place).iterdir())]
    files = [file for file in found if file.suffix in (".c", ".cpp") and file.name not in _PROGRAMS]
    includes = [f"-I{source / place}" for place in _INCLUDES]

    def compiled(file: Path) -> str:
        target = folder / f"{'-'.join(file.parts[-3:])}.o"
        if not target.exists():
            compiler = ("gcc", "-w") if file.suffix == ".c" else ("g++", *_FLAGS)
            _run(*compiler, f"-I{folder}", *includes, "-c", str(file), "-o", f"{target}.new")
            Path(f"{target}.new").rename(target)
        return str(target)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(compiled, files))
    names = (*(("mtmd",) if has_images else ()), "llama", "ggml", "ggml-base", "ggml-cpu")
    link = [
        f"-L{libraries}",
        *(f"-l{name}" for name in names),
        f"-Wl,-rpath,{libraries}",
        "-lpthread",
        "-ldl",
    ]
    program = folder / "llama-server"
    _run("g++", *objects, *link, "-o", f"{program}.new")
    Path(f"{program}.new").rename(program)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)[:300]}\n{done.stderr[-2000:]}"
