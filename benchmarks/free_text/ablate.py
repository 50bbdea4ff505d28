"""Leave out each rule of the judgement of free text in turn, and count the errors without it.

    python -m benchmarks.free_text.ablate [--every N] [--module NAME ...] [--file PAIRS ...]

A rule is a condition (`if`) in a function of rig.plugins.text.judge or rig.plugins.text.reading. One line is
printed for each whose absence changes a verdict, and at the end those that change none. What the model read
is kept, so that only passages that change are read again.
"""

import argparse
import ast
import gc
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from benchmarks.free_text.pairs import Labelled, labelled, outside, unseen
from rig.plugins.similarity.minilm import MiniLM
from rig.plugins.text import judge, reading
from rig.scoring.similarity import Meaning


class Remembering(MiniLM):
    """The packaged measure, which remembers all that it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[tuple[str, str], float | None] = {}

    def likelihood(self, first: str, second: str) -> float | None:
        key = (first, second) if first < second else (second, first)
        if key not in self.read:
            self.read[key] = super().likelihood(*key)
        return self.read[key]


def modules(names: Sequence[str]) -> Iterator[ModuleType]:
    """The modules with rules; all, or those whose names end as one of some."""
    for package in (judge, reading):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not names or found.name.rpartition(".")[2] in names:
                yield importlib.import_module(found.name)


class Without(ast.NodeTransformer):
    """Makes one condition of a module false."""

    def __init__(self, number: int) -> None:
        self.number, self.seen, self.line = number, 0, 0

    def visit_If(self, node: ast.If) -> ast.AST:
        self.seen += 1
        if self.seen == self.number + 1:
            self.line = node.lineno
            node.test = ast.copy_location(ast.Constant(False), node.test)
        return self.generic_visit(node)


def functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions and methods that a module defines, by their qualified names."""
    found = {}
    members = [*vars(module).values()]
    members += [member for kind in members if inspect.isclass(kind) for member in vars(kind).values()]
    for member in members:
        member = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "func", None) or member)
        if isinstance(member, FunctionType) and member.__module__ == module.__name__:
            found[member.__qualname__] = member
    return found


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def conditions(module: ModuleType) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """For each condition of a module its place, what leaves it out, and what takes it back."""
    source = inspect.getsource(module)
    total = sum(isinstance(node, ast.If) for node in ast.walk(ast.parse(source)))
    own = functions(module)
    for number in range(total):
        change = Without(number)
        tree = ast.fix_missing_locations(change.visit(ast.parse(source)))
        changed = {code.co_qualname: code for code in codes(compile(tree, module.__file__ or "", "exec"))}
        before = {name: function.__code__ for name, function in own.items() if name in changed}
        place = f"{module.__name__.removeprefix('rig.plugins.text.')}:{change.line}"
        yield place, partial(put, own, {name: changed[name] for name in before}), partial(put, own, before)


def put(functions_of: Mapping[str, FunctionType], table: Mapping[str, CodeType]) -> None:
    """Give functions other code."""
    for name, code in table.items():
        functions_of[name].__code__ = code


def verdicts(minilm: MiniLM, pairs: Sequence[Labelled]) -> list[Meaning]:
    """How each pair is judged; nothing that was read before is kept."""
    for cache in [found for found in gc.get_objects() if isinstance(found, _lru_cache_wrapper)]:
        cache.cache_clear()
    return [minilm.judge(pair.kind, pair.first, pair.second).meaning for pair in pairs]


def errors(pairs: Sequence[Labelled], found: Sequence[Meaning]) -> Counter[str]:
    """The numbers of false accepts, false rejects and unclear pairs."""
    counts: Counter[str] = Counter()
    for pair, meaning in zip(pairs, found, strict=True):
        counts["unclear"] += meaning is Meaning.UNCLEAR
        counts["false accepts"] += meaning is Meaning.SAME and not pair.same
        counts["false rejects"] += meaning is Meaning.DIFFERENT and pair.same
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="take only each of this number of pairs")
    parser.add_argument("--module", nargs="*", default=(), help="only these modules")
    parser.add_argument("--file", type=Path, nargs="*", default=(), help="the pairs of these files, too")
    options = parser.parse_args()
    pairs = [*labelled(), *(pair for pair in unseen() if pair.group.startswith("families"))][:: options.every]
    pairs += [pair for path in options.file for pair in outside(path)]
    minilm = Remembering()
    base = verdicts(minilm, pairs)
    before = errors(pairs, base)
    print(f"{len(pairs)} pairs: {dict(before)}", flush=True)
    idle: list[str] = []
    for module in modules(options.module):
        for place, leave_out, take_back in conditions(module):
            leave_out()
            try:
                found = verdicts(minilm, pairs)
            except Exception as error:  # a condition that keeps the code from failing
                print(f"{place}: needed ({type(error).__name__})", flush=True)
                continue
            finally:
                take_back()
            if found == base:
                idle.append(place)
                continue
            after = errors(pairs, found)
            changes = ", ".join(f"{name} {after[name] - before[name]:+}" for name in before)
            print(
                f"{place}: {sum(a is not b for a, b in zip(found, base, strict=True))} pairs, {changes}",
                flush=True,
            )
    print(f"{len(idle)} change no verdict: {' '.join(idle)}")


if __name__ == "__main__":
    main()
