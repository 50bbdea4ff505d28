"""What verbs share: how options are grouped, which come from a file, and which from roles."""
