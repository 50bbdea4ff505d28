"""Everything that rig needs, in one file, for a machine that never had a network."""

from rig.bundle.contents import Contents, Made, make
from rig.bundle.verify import Verified, verify

__all__ = ["Contents", "Made", "Verified", "make", "verify"]
