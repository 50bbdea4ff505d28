"""Measurements for those who work on rig. They need a checkout; no wheel has them."""
