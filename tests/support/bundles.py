"""Wheels of a few lines each, for tests of what is made of wheels."""

import base64
import hashlib
import zipfile
from pathlib import Path


def small_wheel(
    folder: Path, name: str, files: dict[str, str], metadata: str = "", command: str = ""
) -> Path:
    """A wheel of some text files, with `command` as `name = module:function`."""
    module = name.replace("-", "_")
    path = folder / f"{module}-1.0-py3-none-any.whl"
    info = f"{module}-1.0.dist-info"
    tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}",
        f"{info}/WHEEL": tag,
        **({f"{info}/entry_points.txt": f"[console_scripts]\n{command}\n"} if command else {}),
    }
    rows = [f"{each},sha256={_digest(text)}," for each, text in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,\n"])
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in members.items():
            archive.writestr(zipfile.ZipInfo(each, (1980, 1, 1, 0, 0, 0)), text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
