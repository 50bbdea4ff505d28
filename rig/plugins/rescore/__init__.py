"""Earlier predictions: read from files, scored again, executed again, and written for other tools."""
