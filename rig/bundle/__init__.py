"""Everything that rig needs, in one file, for a machine that never had a network."""

from rig.bundle.contents import Bundle, Contents, Verified, make, verify

__all__ = ["Bundle", "Contents", "Verified", "make", "verify"]
