"""Everything that rig needs, in one file, for a machine that never had a network."""
