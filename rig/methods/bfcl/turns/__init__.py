"""BFCL's categories of several turns: calls act in classes of the user's checkout; states are compared."""
