from rig.world.world import hexadecimal

NOTE_IDS = hexadecimal(4)
