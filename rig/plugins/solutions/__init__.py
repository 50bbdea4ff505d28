"""Solutions: what was asked, called and answered, and how ToolBench's files hold it."""

REQUIRES = ("documents",)
