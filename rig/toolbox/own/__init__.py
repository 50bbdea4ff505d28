"""Toolboxes of people's own: a folder with tools.json, or with toolbox.py, or with both."""
