"""What a programmer uses: a trained model on source text, with answers in the text's own names.

Reading order: findings (what is said), models (what is asked), check, formats; complete.
"""

from rarename.assist.check import MAX_NODES_CHECKED, Checker
from rarename.assist.complete import Completer, Suggestion
from rarename.assist.diagnostics import CODE, Finding, Report
from rarename.discovery import Files, Skipped, SourceFile
from rarename.inference.model_folder import Model, load_model, packaged

__all__ = [
    "CODE",
    "MAX_NODES_CHECKED",
    "Checker",
    "Completer",
    "Files",
    "Finding",
    "Model",
    "Report",
    "Skipped",
    "SourceFile",
    "Suggestion",
    "load_model",
    "packaged",
]
