"""Leaderboards: what arms of many runs came to on a suite."""
