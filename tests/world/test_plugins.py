"""What can be added to rig from outside, and what is said of a plugin that is none."""

import json
import os
import shutil
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.core.registry import Registry, at, registered
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import find_toolbox

NOTES = Path(__file__).parent / "notes"
TINY = "class Tiny:\n    name = 'tiny'\n\ndef register(registry):\n    registry.{}.add(Tiny())\n"


def test_rigs_own_tenants_are_registered_as_any_other() -> None:
    assert list(registered().toolboxes) == ["tooltalk"]


def test_a_toolbox_in_a_folder_with_a_module_beside_it() -> None:
    first, second = (at(f"{NOTES}{end}").toolboxes["notes"] for end in ("", "/"))
    assert first.tools["AddNote"] is second.tools["AddNote"]
    assert list(first.tools) == ["AddNote", "FindNotes"]


def test_the_environment_names_plugins_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for sort in ("methods", "formats"):
        (tmp_path / f"{sort}.py").write_text(TINY.format(sort))
    places = (str(tmp_path / "methods.py"), str(tmp_path / "formats.py"), "")
    monkeypatch.setenv("RIG_PLUGINS", os.pathsep.join(places))
    found = registered()
    assert [sort["tiny"].name for sort in (found.methods, found.formats)] == ["tiny", "tiny"]


def test_plugin_py_comes_before_toolbox_py(tmp_path: Path) -> None:
    (tmp_path / "toolbox.py").write_text("raise NotImplementedError")
    (tmp_path / "plugin.py").write_text(TINY.format("toolboxes"))
    assert "tiny" in at(str(tmp_path)).toolboxes


def test_two_tenants_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(NOTES, tmp_path / "copy")
    monkeypatch.setenv("RIG_PLUGINS", f"{NOTES}{os.pathsep}{copy}")
    with pytest.raises(
        RigError, match=r"the plugin .*copy cannot be loaded: there is already a toolbox named notes"
    ):
        registered()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", r"ZeroDivisionError: division by zero \(.*bad\.py, line 1\)"),
        ("\ndef register(registry):\n    registry.shelf()", r"AttributeError.*shelf.*bad\.py, line 3\)"),
        ("def register(registry) pass", r"SyntaxError.*bad\.py, line 1"),
        ("x = 1", "it has no function register"),
        ("import no_such_module_at_all", r"ModuleNotFoundError: .*bad\.py, line 1\)"),
    ],
)
def test_a_bad_plugin_is_one_line_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    for _ in range(2):
        with pytest.raises(RigError, match=rf"^the plugin .*bad\.py cannot be loaded: {reason}"):
            at(str(tmp_path / "bad.py"))


@pytest.mark.parametrize("name", ["missing", "missing.py", "text.txt", "."])
def test_a_place_without_a_plugin(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.txt").write_text("def register(registry): pass")
    with pytest.raises(RigError, match="or a folder with"):
        at(str(tmp_path / name))


def test_a_tenant_needs_a_name() -> None:
    with pytest.raises(AttributeError):
        Registry().toolboxes.add(object())


def test_what_is_added_for_later_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    registry = Registry()
    registry.methods.later("mine", "json:loads")
    registry.methods.later("mine", "json:loads")
    assert list(registry.methods) == ["mine"]
    assert "mine" in registry.methods
    assert "other" not in registry.methods
    assert registry.methods["mine"] is json.loads
    with pytest.raises(KeyError):
        registry.methods["other"]
    with pytest.raises(RigError, match="there is already a method named mine"):
        registry.methods.later("mine", "json:dumps")
    registry.formats.later("broken", "json:nothing")
    for _ in range(2):
        with pytest.raises(RigError, match=r"the plugin json:nothing cannot be loaded: AttributeError"):
            registry.formats["broken"]


def test_a_toolbox_is_found_by_name_or_by_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_toolbox(None) is find_toolbox("tooltalk") is TOOLTALK
    assert find_toolbox(str(NOTES)).name == "notes"
    with pytest.raises(RigError, match="no toolbox is called 'notes'; choose from: tooltalk"):
        find_toolbox("notes")
    monkeypatch.setenv("RIG_PLUGINS", str(NOTES))
    assert find_toolbox("notes").name == "notes"
    monkeypatch.chdir(NOTES.parent)
    assert find_toolbox("notes").tools.keys() == find_toolbox(f"{NOTES}/.").tools.keys()
    (tmp_path / "toolbox.py").write_text("def register(registry): pass")
    with pytest.raises(RigError, match="registers 0 toolboxes"):
        find_toolbox(str(tmp_path))


def test_what_registrations_say_of_methods_is_what_the_methods_say() -> None:
    tenants = registered().methods
    for name, method in tenants.items():
        assert tenants.attribute(name, "roles") == method.roles
        assert tenants.attribute(name, "shipped") == tuple(method.shipped)
        told = [(own.name, own.default, own.help) for own in tenants.attribute(name, "explained")]
        assert told == [(own.name, own.default, own.help) for own in method.explained]


def test_what_a_registration_says_needs_no_loading() -> None:
    registry = Registry()
    registry.methods.later("mine", "no.such.module:thing", roles=("reader", "writer"))
    assert registry.methods.attribute("mine", "roles") == ("reader", "writer")
    with pytest.raises(RigError, match="cannot be loaded"):
        registry.methods.attribute("mine", "suites")
