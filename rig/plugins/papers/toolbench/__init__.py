"""ToolBench and StableToolBench: raw and converted answers, files of results, and leaderboards."""
