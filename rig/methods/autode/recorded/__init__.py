"""What upstream recorded: its result files."""
