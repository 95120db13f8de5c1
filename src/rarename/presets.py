"""Named settings for each task: the paper's, those for a few cores, those of the packaged models, and a tiny one.

`check` and `complete` go beyond the paper (docs/variable-misuse.md, docs/code-completion.md).
"""

from collections.abc import Mapping
from typing import Any

from rarename.config import TASK_CONFIGS, ExperimentConfig, config_from, flatten
from rarename.errors import UnknownName, UsageError

Preset = dict[str, dict[str, Any]]

_SMALL_MISUSE: Preset = {
    "model": {
        "d_model": 128, "num_layers": 3, "num_heads": 4, "d_ff": 512, "dropout": 0.0,
        "init_tied_qk": True, "init_neighbour_heads": True, "scale_embeddings": True,
    },
    "training": {
        "optimizer": "muon", "learning_rate": 4e-3, "lr_scheduler": "linear", "warmup_steps": 200, "num_epochs": 3.0,
        "max_batch_nodes": 1_000,
    },
}  # fmt: skip

_SMALL_COMPLETION: Preset = {
    "encoding": {"num_placeholders": 500},
    "task": {"stride": 500},
    "model": {
        "d_model": 128, "num_layers": 3, "num_heads": 2, "d_ff": 512, "max_relative_distance": 32, "dropout": 0.0,
        "init_tied_qk": True, "init_copy_values": True, "init_neighbour_heads": True, "scale_embeddings": True,
    },
    "training": {
        "optimizer": "muon", "learning_rate": 3e-3, "lr_scheduler": "linear", "warmup_steps": 200, "num_epochs": 1.0,
        "max_batch_nodes": 1_000, "eval_every_examples": 4_000, "eval_examples": 200,
    },
}  # fmt: skip

PRESETS: dict[str, dict[str, Preset]] = {
    "misuse": {
        "paper": {
            "task": {"bug_sampler": "published"},
            "model": {"norm": "mixed", "shared_offsets": True, "ffn_dropout": True, "init": "torch"},
            "training": {
                "optimizer": "adam", "learning_rate": 1e-5, "lr_scheduler": "constant", "num_epochs": 25.0,
                "batch_size": 32, "max_grad_norm": 0.0, "weight_decay": 0.0,
            },
        },
        "small": _SMALL_MISUSE,
        "check": {
            "encoding": {"vocabulary_size": 5_000, "num_placeholders": 1_024, "num_subtokens": 6_000},
            "task": {
                "bug_sampler": "realistic", "redraw_bugs": True, "max_function_nodes": 1_000, "length_exponent": 1.2,
                "pointer_head": "conditional", "usage_features": True, "context_nodes": 24, "multi_bug_epochs": 5,
                "epoch_functions": 20_000,
            },
            "model": _SMALL_MISUSE["model"] | {"num_layers": 4},
            "training": _SMALL_MISUSE["training"] | {
                "learning_rate": 3e-3, "warmup_steps": 300, "num_epochs": 9.0, "max_batch_nodes": 3_000,
            },
        },
        "tiny": {
            "model": _SMALL_MISUSE["model"] | {"d_model": 64, "num_layers": 2, "d_ff": 128},
            "training": _SMALL_MISUSE["training"] | {
                "optimizer": "adamw", "learning_rate": 3e-3, "warmup_steps": 100, "num_epochs": 4.0,
            },
        },
    },
    "completion": {
        "paper": {
            "encoding": {"num_placeholders": 500},
            "task": {"min_new_nodes": 2},
            "model": {
                "max_relative_distance": 32, "dropout": 0.1, "activation": "gelu", "shared_offsets": True,
                "init": "xavier",
            },
            "training": {
                "optimizer": "adam", "learning_rate": 1e-3, "lr_scheduler": "cosine", "warmup_steps": 2_000,
                "num_epochs": 20.0, "batch_size": 32, "max_grad_norm": 0.2, "weight_decay": 0.0,
            },
        },
        "small": _SMALL_COMPLETION,
        "complete": _SMALL_COMPLETION | {
            "encoding": {"vocabulary_size": 5_000, "num_placeholders": 500},
            "task": {"stride": 500, "copy_pointer": True},
            "training": _SMALL_COMPLETION["training"] | {
                "optimizer": "adamw", "eval_every_examples": 8_000, "eval_examples": 400,
            },
        },
        "tiny": _SMALL_COMPLETION | {
            "model": _SMALL_COMPLETION["model"] | {"d_model": 64, "num_layers": 2, "d_ff": 128},
            "training": _SMALL_COMPLETION["training"] | {
                "optimizer": "adamw", "warmup_steps": 100, "num_epochs": 2.0, "eval_every_examples": 2_000,
            },
        },
    },
}  # fmt: skip

LANGUAGE_PRESETS: dict[tuple[str, str, str], Preset] = {
    ("misuse", "paper", "javascript"): {"training": {"num_epochs": 40.0}},
}
"""Settings that a preset of a task changes for one language."""


def preset_config(
    corpus: str, preset: str, settings: Mapping[str, Any], language: str = "", task: str = "misuse"
) -> ExperimentConfig:
    """Build a config from a preset, overridden by settings that are nested or have dotted keys.

    >>> preset_config("c", "paper", {}).training.num_epochs
    25.0
    >>> preset_config("c", "paper", {}, "javascript").training.num_epochs
    40.0
    >>> preset_config("c", "small", {"model.num_layers": 2, "seed": 7}).model.num_layers
    2
    """
    if task not in TASK_CONFIGS:
        raise UnknownName("task", task, TASK_CONFIGS)
    if preset not in PRESETS[task]:
        raise UnknownName(f"preset of {task}", preset, PRESETS[task])
    merged: dict[str, Any] = {"corpus": corpus, "task.name": task} | flatten(PRESETS[task][preset])
    merged |= flatten(LANGUAGE_PRESETS.get((task, preset, language), {})) | flatten(settings)
    if merged["task.name"] != task:
        raise UsageError(f"the settings are for {merged['task.name']}, not for {task}")
    return config_from(merged)
