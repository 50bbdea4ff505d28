"""The pseudo-random ids and tokens of ToolTalk, reproduced exactly: each tool draws from `Random(489)`."""

from rig.toolbox.identifiers import Identifiers, hexadecimal

SESSION_TOKENS = hexadecimal(8, 4, 4)
ALARM_IDS = hexadecimal(4, 4)
EVENT_IDS = hexadecimal(8, 4)
REMINDER_IDS = hexadecimal(2, 4)
EMAIL_IDS = hexadecimal(2, 4, 8)
MESSAGE_IDS = hexadecimal(8, 8)
VERIFICATION_CODES = Identifiers(lambda random: f"{random.randint(0, 999_999):06d}")
