"""An export: three lines on a run."""

from collections.abc import Iterator

from rig.plugins.exports import Export, ExportSource


class Haiku(Export):
    name = "haiku"
    settings = ("season",)

    def pieces(self, source: ExportSource) -> Iterator[str]:
        yield f"{source.values.get('season', 'autumn')} evening\n"
        for arm in source.run.arms:
            yield f"{arm.name}, {arm.counts.get('successes', 0)} of {arm.counts.get('tasks', 0)}\n"
        yield "the tools are at rest\n"


def register(registry):
    registry.exports.add(Haiku())
