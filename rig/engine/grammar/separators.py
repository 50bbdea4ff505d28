"""Python's own JSON separators: the form in which earlier answers are shown, and no whitespace loops."""

BETWEEN_ITEMS = ", "
BETWEEN_KEY_AND_VALUE = ": "
