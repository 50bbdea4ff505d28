"""What is played: scenarios, API documents, and where both are read from."""
