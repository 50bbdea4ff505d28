"""The score of a finished conversation, and how far ways of evaluating agree."""
