"""What a tool, a toolbox and a world are, and the simulator that executes calls of tools."""
