"""What people write and read: the file of their settings, and words of messages."""
