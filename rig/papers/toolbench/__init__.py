"""ToolBench and StableToolBench: answers raw and converted, files of results, leaderboards."""
