"""Stored runs replayed as the events that their runner emitted: from the beginning, or as they grow."""

from rig.replay.moments import Moment, StoredEvents, turn_moments
from rig.replay.player import SLOWEST, SPEEDS, Playback, Player

__all__ = ["SLOWEST", "SPEEDS", "Moment", "Playback", "Player", "StoredEvents", "turn_moments"]
