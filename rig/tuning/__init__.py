"""Making model files from others: merging adapters, widening rows, quantizing weights."""
