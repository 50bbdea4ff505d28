"""Your own toolboxes: a folder with tools.json, or with toolbox.py, or with both."""
