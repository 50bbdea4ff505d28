"""Where chat templates run: a process that may take so much time and memory and no more."""

from rig.engine.sandbox.process import TemplateError, compile, render

__all__ = ["TemplateError", "compile", "render"]
