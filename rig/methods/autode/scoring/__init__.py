"""What a finished conversation is worth, and how far ways of evaluating agree."""
