from rig.toolbox.world import hexadecimal

NOTE_IDS = hexadecimal(4)
