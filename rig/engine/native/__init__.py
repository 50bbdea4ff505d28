"""The forms in which models were trained to call tools, found in their chat templates."""
