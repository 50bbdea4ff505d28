"""Runs on a cluster of two nodes of this machine, in a process of its own: Ray leaves threads and signals.

    python on_ray.py FOLDER LOST,LOST,… ARGUMENT...

For each LOST (nothing, worker, node or driver) rig runs with these arguments on the same cluster, in a store
FOLDER/LOST.sqlite, and what is named is killed after the second turn, while it is at work. Prints what the
tests look at.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import count
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_failure_threshold": "3",
}
HERE = {"node_ip_address": "127.0.0.1", "include_dashboard": False, "object_store_memory": 100 * 2**20}


def main() -> None:
    import ray
    from ray._private import services

    ray.util.get_node_ip_address = services.get_node_ip_address = lambda *_: "127.0.0.1"
    if sys.argv[1] == "driver":
        drive(ray, *sys.argv[2:])
        return
    folder, lost, *arguments = sys.argv[1:]
    from ray._common.utils import get_ray_address_file
    from ray.cluster_utils import Cluster

    # A cluster writes its address there, wherever its other files are, and expects the folder.
    Path(get_ray_address_file(None)).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as place:
        # The head has no room for an actor, so that the nodes can be lost.
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "temp_dir": place, **HERE})
        nodes = [cluster.add_node(num_cpus=1, **HERE) for _ in range(2)]
        try:
            for each in lost.split(","):
                store = str(Path(folder) / f"{each}.sqlite")
                command = [sys.executable, __file__, "driver", cluster.address, each, store, *arguments]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
                    assert driver.stdout is not None
                    for line in driver.stdout:
                        print(each, line, end="", flush=True)
                        if line.startswith("kill "):
                            (node,) = (node for node in nodes if node.node_id == line.split()[1])
                            cluster.remove_node(node, allow_graceful=False)
                print(each, "code", driver.returncode, flush=True)
        finally:
            cluster.shutdown()


def drive(ray: Any, address: str, lost: str, store: str, *arguments: str) -> None:
    """Run, and have that killed."""
    from rig.cli import main as rig
    from rig.plugins.ray.workers import Workers
    from rig.show.base import NoDisplay

    models: list[Workers] = []
    begin = Workers.prepare

    def prepare(self: Workers, *values: Any) -> None:
        begin(self, *values)
        models.append(self)
        print("actors", len(self._workers), flush=True)

    Workers.prepare = prepare  # type: ignore[method-assign]
    turns = count(1)

    def kill(event: Any) -> None:
        if type(event).__name__ == "Notice":
            print("notice", event.text, flush=True)
        if type(event).__name__ != "TurnFinished" or next(turns) != 2 or lost == "nothing":
            return
        if lost == "driver":
            os.kill(os.getpid(), signal.SIGKILL)
        worker = next(worker for worker in models[-1]._workers if worker.under_way)
        if lost == "worker":
            os.kill(ray.get(worker.actor.process.remote()), signal.SIGKILL)
        if lost == "node":
            from ray._private.state import actors

            node = actors(worker.actor._actor_id.hex())["Address"]["NodeID"]
            print("kill", node, flush=True)
            # The rest would be played before the node is gone.
            while any(each["NodeID"] == node and each["Alive"] for each in ray.nodes()):
                time.sleep(0.05)

    NoDisplay.run = lambda display, job, control: job(kill)  # type: ignore[method-assign]
    rig([*arguments, "--runs", store, "--on", f"ray:{address}", "--display", "none"])


if __name__ == "__main__":
    main()
