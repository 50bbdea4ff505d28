"""Model files made of others: adapters merged, rows widened, weights quantized."""
