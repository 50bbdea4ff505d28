"""Installs the MCP servers that tests/mcp/test_real_servers.py runs, from npm and PyPI.

python tests/support/mcp_install.py DIR && RIG_MCP=DIR pytest tests/mcp
"""

import subprocess
import sys
import venv
from pathlib import Path

NPM = tuple(
    f"@modelcontextprotocol/server-{name}"
    for name in ("filesystem", "memory", "everything", "sequential-thinking")
)
PYPI = {"git": ("mcp-server-git",), "time": ("mcp-server-time",), "sqlite": ("mcp-server-sqlite", "mcp<2")}
"""By the folder of its environment: they need different versions of the protocol's library."""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--prefix", str(folder), *NPM], check=True)
    for name, packages in PYPI.items():
        venv.create(folder / name, with_pip=True)
        subprocess.run([str(folder / name / "bin" / "pip"), "install", "--quiet", *packages], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
