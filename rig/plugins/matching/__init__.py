"""Whether a predicted call matches the ground truth, and whether two worlds are the same."""
