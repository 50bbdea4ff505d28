"""Chat templates: rendered in a process with limits on time and memory, and never shown contents."""
