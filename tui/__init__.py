"""The application in the terminal: the live view of a run, and stored runs."""

REQUIRES = (
    "lines",
    "matching",
    "replay",
    "rescore",
)
