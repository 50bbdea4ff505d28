"""Whether a judge can be trusted: labels, agreement with them, and what is said about it."""
