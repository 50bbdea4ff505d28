"""What is played: scenarios and API documents, and where both come from."""
