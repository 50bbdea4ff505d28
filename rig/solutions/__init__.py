"""Solutions: what was asked, called, said and answered; and ToolBench's files of them."""
