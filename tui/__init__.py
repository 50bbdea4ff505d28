"""The application in the terminal: the live view of a run, and stored runs."""

REQUIRES = (
    "groups",
    "lines",
    "matching",
    "replay",
    "rescore",
)
