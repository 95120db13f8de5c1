"""The tasks by name; `config.TASK_CONFIGS` holds their settings under the same names."""

from typing import Any

from rarename.tasks.completion.task import CompletionTask
from rarename.tasks.misuse.task import MisuseTask

TASKS: dict[str, Any] = {"misuse": MisuseTask, "completion": CompletionTask}
"""Classes with the interface `tasks.task.Task`."""
