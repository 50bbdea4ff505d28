"""Players without a language model: the scripted user, and the oracle."""
