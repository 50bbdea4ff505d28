"""Stored runs replayed as the events that their runner emitted: from the beginning, or as they grow."""
