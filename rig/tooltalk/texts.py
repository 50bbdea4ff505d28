"""The kinds of free text that arguments hold."""

from rig.toolbox.spec import Text

EVENT = Text("event", like="event")
"""Event names and descriptions."""
LOCATION = Text("location", like="location", place=True, personal=True)
"""Event locations."""
TASK = Text("task", like="task")
"""Reminder tasks."""
SUBJECT = Text("subject", like="subject")
"""Email subjects."""
BODY = Text("body", like="body", cosine=0.8, personal=True)
"""Email bodies and messages."""

KINDS = {kind.name: kind for kind in (EVENT, LOCATION, TASK, SUBJECT, BODY)}
"""All of them by name."""
