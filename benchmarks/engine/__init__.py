"""`rig bench`: the engine against its own floor and against other ways of running the same prompts."""
