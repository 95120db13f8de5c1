"""Trained models on source text, with results in the text's own names. Importing it does not load torch.

Reading order: diagnostics (what is reported), check (source text to diagnostics), run (many files, with a cache and
several processes), formats; complete.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rarename.assist.check import Checker, CheckModel
    from rarename.assist.complete import Completer, Suggestion
    from rarename.assist.diagnostics import CODE, CheckResult, Diagnostic

__all__ = ["CODE", "CheckModel", "CheckResult", "Checker", "Completer", "Diagnostic", "Suggestion"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: what is cached needs no model."""
    if name in __all__:
        for module in ("diagnostics", "check", "complete"):
            if (value := vars(import_module(f"rarename.assist.{module}")).get(name)) is not None:
                return value
    raise AttributeError(f"module 'rarename.assist' has no attribute {name!r}")
