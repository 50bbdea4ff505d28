"""What people write and read: their settings file, and the words of messages."""
