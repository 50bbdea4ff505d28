"""What a text states as a fact: days, times of day, numbers, amounts."""
