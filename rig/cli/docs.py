"""rig docs: open the documentation."""

import webbrowser

import click

from rig import site
from rig.cli.output import print_json, printable


@click.command()
@click.argument("name", metavar="[PAGE]", required=False)
@click.option("--list", "listed", is_flag=True, help="List the pages instead.")
@click.option("--path", "as_path", is_flag=True, help="Print where the page is instead of opening it.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON.")
def command(name: str | None, *, listed: bool, as_path: bool, as_json: bool) -> None:
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
            click.echo(printable(f"{title:<20} {path.relative_to(folder).parent}"))
        return
    path = site.page(folder, name)
    if as_path:
        click.echo(printable(str(path)))
    elif not webbrowser.open(path.resolve().as_uri()):
        click.echo(f"rig: no browser was found; open {printable(str(path))} yourself", err=True)
