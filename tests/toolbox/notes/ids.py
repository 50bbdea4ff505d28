from rig.toolbox.identifiers import hexadecimal

NOTE_IDS = hexadecimal(4)
