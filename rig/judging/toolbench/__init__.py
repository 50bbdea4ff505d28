"""Files of ToolBench's: answers taken in as runs and written, and tables of results."""
