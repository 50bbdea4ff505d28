"""A run on a cluster of two nodes of this machine, in a process of its own: Ray leaves threads and signals.

    python on_ray.py STORE LOST ARGUMENT...

LOST is what is killed after the second turn: nothing, worker, node or driver. Prints the exit code.
"""

import os
import signal
import sys
import warnings
from itertools import count
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_health_check_period_ms": "500"}
STORE = 100 * 2**20
HERE = {"node_ip_address": "127.0.0.1", "include_dashboard": False, "object_store_memory": STORE}


def main() -> None:
    import ray
    from ray._private import services
    from ray.cluster_utils import Cluster

    ray.util.get_node_ip_address = services.get_node_ip_address = lambda *_: "127.0.0.1"

    from rig.cli import main as rig
    from rig.cluster.crew import Crew
    from rig.displays import none

    store, lost, *arguments = sys.argv[1:]
    # The head has no room for an actor, so that the nodes can be lost.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **HERE})
    nodes = [cluster.add_node(num_cpus=1, **HERE) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    crews: list[Crew] = []
    begin = Crew.prepare

    def prepare(self: Crew, *values: Any) -> None:
        begin(self, *values)
        crews.append(self)
        print("actors", len(self._workers), flush=True)

    Crew.prepare = prepare  # type: ignore[method-assign]
    turns = count(1)

    def kill(event: Any) -> None:
        if type(event).__name__ == "Notice":
            print("notice", event.text, flush=True)
        if type(event).__name__ != "TurnFinished" or next(turns) != 2:
            return
        if lost == "worker":
            os.kill(ray.get(crews[-1]._workers[0].actor.process.remote()), signal.SIGKILL)
        elif lost == "node":
            cluster.remove_node(nodes[1], allow_graceful=False)
        elif lost == "driver":
            Path(store).with_suffix(".killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    none._ignore = kill
    code: object = 0
    try:
        rig([*arguments, "--runs", store, "--on", f"ray:{cluster.address}", "--display", "none"])
    except SystemExit as end:
        code = end.code
    print("code", code, flush=True)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
