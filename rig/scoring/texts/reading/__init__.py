"""A text as it is read: words brought to one form, and what the lexicon knows about them."""
