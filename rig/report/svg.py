"""matplotlib's SVG adapted to a page: elements and attributes. Texts stay as they are."""

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_TEXTS = frozenset({"text", "tspan", "style", "title"})
_NUMBERS = ("d", "x", "y", "points", "width", "height")


def for_page(drawn: str, title: str, colours: Mapping[str, str]) -> str:
    """A drawing as an element of a page, with `title` for those who do not see it.

    `colours` become variables of the page, by their names. Raises ParseError if it is not an SVG.
    """
    root = ElementTree.fromstring(drawn)
    # HTML knows the elements of SVG, and what `href` is in them: none needs a namespace.
    for element in [*root.iter()]:
        element.tag = element.tag.rpartition("}")[2]
        for name in [*element.attrib]:
            element.attrib[name.rpartition("}")[2]] = element.attrib.pop(name)
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    used = {element.get("href", "").removeprefix("#") for element in root.iter()}
    used |= {element.get("clip-path", "")[len("url(#") : -1] for element in root.iter()}
    for element in root.iter():
        _tidy(element, used, colours)
    width, height = (root.get("viewBox") or "").split()[2:]
    root.attrib.clear()
    root.attrib |= {
        "viewBox": f"0 0 {width} {height}",
        "style": f"width:{float(width):.0f}pt",
        "role": "img",
        "aria-label": title,
    }
    return ElementTree.tostring(root, encoding="unicode")


def _tidy(element: Element, used: set[str], colours: Mapping[str, str]) -> None:
    element.tail = None
    if element.tag not in _TEXTS:
        element.text = None
    # What nothing refers to needs no id, and would have the same one in the next figure.
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for name in _NUMBERS:
        if name in element.attrib:
            element.attrib[name] = " ".join(map(_short, element.attrib[name].split()))
    if "style" in element.attrib:
        element.attrib["style"] = _style(element.attrib["style"], colours)


def _short(word: str) -> str:
    """A number to a tenth of a point, which is less than a pixel; any other word as it is."""
    try:
        return f"{round(float(word), 1):g}"
    except ValueError:
        return word


def _style(text: str, colours: Mapping[str, str]) -> str:
    """Declarations with the page's colours, and without a font: that is the page's, too."""
    declared = (part.strip().partition(":") for part in text.split(";"))
    kept = ((name, value.strip()) for name, _, value in declared if name != "font-family")
    return "; ".join(
        f"{name}: {f'var(--{colours[value]})' if value in colours else value}" for name, value in kept
    )
