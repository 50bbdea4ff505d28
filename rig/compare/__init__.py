"""Arms of stored runs side by side: rates, differences, what flipped, and what can be said about it."""
