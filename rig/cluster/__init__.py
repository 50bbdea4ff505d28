"""Models on other machines: each Ray actor holds one, and together they are used like any other model.

Importing this package does not import Ray and opens nothing; `placed` and what it returns do.
"""

from rig.cluster.place import leave, placed

__all__ = ["leave", "placed"]
