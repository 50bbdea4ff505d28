"""Earlier predictions: read from files, scored again, executed again, written for other tools."""
