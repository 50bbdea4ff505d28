"""Models on other machines: actors of Ray that each hold one, behind a model like any other.

Importing this package does not import Ray and opens nothing; `placed` and what it returns do.
"""

from rig.cluster.place import placed

__all__ = ["placed"]
