"""Files that people and other programs wrote, read strictly: every fault is one line that says where."""
