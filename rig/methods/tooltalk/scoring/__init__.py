"""What ToolTalk makes of what was called: who called, what was right, and what went wrong."""
