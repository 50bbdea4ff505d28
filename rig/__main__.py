"""`python -m rig`, for environments whose bin folder is not on the path."""

from rig.cli import main

if __name__ == "__main__":
    main()
