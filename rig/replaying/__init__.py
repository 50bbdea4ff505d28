"""Stored runs told again, as the events that their runner emitted: from the beginning, or as they grow."""

from rig.replaying.playback import SPEEDS, Playback
from rig.replaying.player import Player
from rig.replaying.telling import Moment, Teller, turn_moments

__all__ = ["SPEEDS", "Moment", "Playback", "Player", "Teller", "turn_moments"]
