"""Reading what graders made of runs: the scores, each conversation as one grader has it, and what it took."""
