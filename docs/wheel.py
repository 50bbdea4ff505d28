"""What a wheel has besides files of the repository: manual pages and, once it is built, the documentation.

hatchling runs this when it builds a wheel. Manual pages need rig's dependencies, as `make wheel` has them; in
an isolated build, they are left out.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelContents(BuildHookInterface[Any]):
    """Adds files to a wheel that are made while it is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        pages = root / "build" / "man"
        shutil.rmtree(pages, ignore_errors=True)
        command = [sys.executable, "-m", "rig", "docs", "--man", str(pages)]
        made = subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0
        if made:
            build_data["shared_data"] = {str(pages): "share/man/man1"}
        if (root / "site" / "index.html").is_file():
            build_data["force_include"][str(root / "site")] = "rig/data/site"
