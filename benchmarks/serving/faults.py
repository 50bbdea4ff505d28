"""Every fault that a proxy can put between rig and a real server: is it named over a suite, and nothing else?

`python benchmarks/serving/faults.py --faults NAME … -- FILE OPTIONS` starts llama-server (xllamacpp's) on
the file, a proxy for each fault before it, and plays them as arms of one run beside the file, with options
of `rig run`. `--honest N` adds faithful proxies. It prints a JSON line for each arm, then how many were named
rightly. Of a fault that never came to change anything nothing can be told.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from fault_proxy import BROKEN, IN, ONE_INDEX, OUT, STREAMED  # noqa: E402
from real_servers import fault_proxy, llama_server  # noqa: E402

from rig.plugins.served import FAITHFUL  # noqa: E402
from rig.store import Runs  # noqa: E402

KINDS = {
    **dict.fromkeys(IN, "prompt"),
    **dict.fromkeys(("oldest_cut", "middle_cut", "texts_cut", "result_cut"), "context"),
    **dict.fromkeys(("temperature_dropped", "repeat_penalty", "min_p", "max_tokens", "biased"), "sampler"),
    **dict.fromkeys(("stop_added", "json_forced", "seed_dropped", "one_candidate"), "sampler"),
    "tool_choice_dropped": "sampler",
    **dict.fromkeys((*OUT, *STREAMED, ONE_INDEX), "calls"),
    "thoughts_leaked": "reasoning",
    **dict.fromkeys(BROKEN, "server fault"),
}
"""The cause that each fault is."""
ORDER = ("--similarity", "exact", "--display", "none", "--flash-attention", "on")


def judged(fault: str, told: dict[str, Any] | None, failure: str | None, changes: int) -> dict[str, Any]:
    """Whether an arm's causes are those of its fault, which changed so many requests and answers."""
    causes = told["causes"] if told else []
    kinds = Counter(cause["cause"] for cause in causes)
    faults = Counter({kind: count for kind, count in kinds.items() if kind not in FAITHFUL})
    details = [cause["detail"] for cause in causes if cause["cause"] == KINDS.get(fault)]
    right = not faults if fault == "none" else set(faults) == {KINDS[fault]}
    if failure is not None and KINDS.get(fault) == "server fault":
        right = True
    return {
        "fault": fault,
        "right": right,
        "changes": changes,
        "differs": bool(kinds) or failure is not None,
        "alike": told["alike"] if told else None,
        "causes": dict(kinds),
        "first": details[:1],
        "failure": failure,
    }


def changes(proxy: str) -> int:
    with urlopen(f"{proxy}/changes") as answer:
        return int(json.loads(answer.read()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a GGUF file whose chat template shows tools")
    parser.add_argument("--faults", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--honest", type=int, default=1, help="arms without a fault")
    parser.add_argument("--upstream", help="the address of a server that runs already")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of `rig run`")
    chosen = parser.parse_args()
    faults = [*chosen.faults, *["none"] * chosen.honest]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = chosen.upstream or stack.enter_context(llama_server(chosen.file, folder)).url
        proxies = [stack.enter_context(fault_proxy(url, fault, folder)).url for fault in faults]
        store = folder / "runs.sqlite"
        command = [sys.executable, "-m", "rig", "run", str(chosen.file), *proxies, *ORDER, *chosen.options]
        subprocess.run([*command, "--runs", str(store)], check=False, cwd=ROOT)
        with Runs.open(store) as runs:
            arms = {arm.name: arm for arm in runs.get("latest").arms}
        results = [
            judged(fault, arms[proxy].notes.get("attribution"), arms[proxy].failure, changes(proxy))
            for fault, proxy in zip(faults, proxies, strict=True)
        ]
    for result in results:
        print(json.dumps(result))
    telling = [result for result in results if result["changes"] and result["differs"]]
    right = sum(result["right"] for result in telling)
    false = sum(not result["right"] for result in results if result["fault"] == "none")
    print(f"{right} of {len(telling)} faults with an effect are named rightly; {false} named without one")


if __name__ == "__main__":
    main()
