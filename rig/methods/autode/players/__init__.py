"""Those who need no language model: the scripted user, and the oracle."""
