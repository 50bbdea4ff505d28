"""rig docs: open the documentation."""

import webbrowser

from rig import site
from rig.cli.output import print_json, say
from rig.cli.verbs import argument, option, verb


@verb()
def command(
    name: str | None = argument("[PAGE]"),
    *,
    listed: bool = option("List the pages instead.", flags="--list"),
    as_path: bool = option("Print where the page is instead of opening it.", flags="--path"),
    as_json: bool = option("With --list: print JSON.", flags="--json"),
) -> None:
    """Open the documentation in a browser: the first page, or PAGE. It needs no network.

    \b
    Examples:
      rig docs                  the first page; / searches
      rig docs comparing        the page on comparing
      rig docs --list           all pages
    """  # noqa: D301 - for click
    folder = site.site()
    if listed or as_json:
        pages = site.pages(folder)
        if as_json:
            print_json({name: str(path) for name, path in pages.items()})
        for title, path in () if as_json else pages.items():
            say(f"{title:<20} {path.relative_to(folder).parent}")
        return
    path = site.page(folder, name)
    if as_path:
        say(str(path))
    elif not webbrowser.open(path.resolve().as_uri()):
        say(f"rig: no browser was found; open {path} yourself", err=True)
