"""Text from anywhere, made harmless to print."""

import unicodedata


def printable(text: str) -> str:
    """The text with what could steer a terminal or a page made visible; newlines and tabs stay."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
        else character.encode("unicode_escape").decode()
        for character in text
    )
