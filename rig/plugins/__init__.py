"""What comes with rig and is no part of the kernel: a folder each, registered as a stranger's plugin is."""
