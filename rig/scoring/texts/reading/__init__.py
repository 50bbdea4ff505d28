"""A text as it is read: words brought to one form, and what is known of them beforehand."""
