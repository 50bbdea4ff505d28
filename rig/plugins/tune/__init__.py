"""Making model files from others: merging adapters, quantizing weights."""
