"""Trained models on source text, with results in the text's own names. Importing it does not load torch.

Reading order: diagnostics (what is reported), check, formats; complete.
"""

from rarename.assist.check import Checker, CheckModel
from rarename.assist.complete import Completer, Suggestion
from rarename.assist.diagnostics import CODE, CheckResult, Diagnostic

__all__ = ["CODE", "CheckModel", "CheckResult", "Checker", "Completer", "Diagnostic", "Suggestion"]
