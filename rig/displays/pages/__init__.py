"""Stored things as text for people: a run, a conversation, a comparison, a screen, ToolTalk's tables."""
