"""Where chat templates run: a process with limits on time and memory."""

from rig.engine.sandbox.process import TemplateError, compile, render

__all__ = ["TemplateError", "compile", "render"]
