"""ToolTalk's scoring of calls: who called, what was right, and what went wrong."""
