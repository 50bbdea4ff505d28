"""Leaderboards: the results of the arms of many runs on a suite."""
