"""What no wording can make the same: each check says why two texts differ, or nothing."""
