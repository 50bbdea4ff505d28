"""Models on other machines: each Ray actor holds one, and together they are used like any other model.

Importing this package does not import Ray or open any connection; the loader and what it loads do.
"""

from rig.cluster.on_ray import disconnect
from rig.cluster.workers import loader_on

__all__ = ["disconnect", "loader_on"]
