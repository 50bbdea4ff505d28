"""ToolBench's files: answers, read as runs and written, and tables of results."""
