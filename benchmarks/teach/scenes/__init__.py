"""What people want of the tools, plugin by plugin. A scene lets a user want one thing and be served."""
