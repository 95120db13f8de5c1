"""Every setting of a run, as frozen dataclasses without torch, with TOML in and out.

The text below a field is its help text: `rarename train --help-settings` lists every key with its meaning and default.
Values are checked where a config is made, so a config that exists is valid.
"""

import ast
import dataclasses
import inspect
import operator
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, Literal, NamedTuple, get_args, get_origin

from rarename.anonymize import STRATEGIES
from rarename.errors import RunError, UnknownName, UsageError
from rarename.io import write_text
from rarename.reading import read_toml

FORMAT_VERSION = 2
"""Version of the file `config.toml`."""
RECIPE_VERSION = 1
"""Raised when the same settings train differently than before: results of two recipes are never compared."""

MAX_SIZE = 100_000_000
"""The largest vocabulary size, which `max` stands for: all values of training."""

MAX_NUMBER = 2**63
"""From this on, numbers of a config are refused: they overflow somewhere later."""

ADDED_SETTINGS: dict[str, Any] = {
    "model.activation": "relu", "model.norm": "pre", "model.shared_offsets": False, "model.ffn_dropout": False,
    "training.batch_size": 0, "task.redraw_bugs": False, "task.length_exponent": 0.0, "task.context_nodes": 0,
    "task.epoch_functions": 0,
    "task.min_new_nodes": 1, "task.pointer_attention": "own", "model.attention": "relative", "model.init": "scaled",
    "task.fix_epochs": 8, "task.fix_learning_rate": 0.2, "task.fix_tiers": "A", "task.fix_clean_functions": 4.0,
    "task.fix_hard_fraction": 0.5, "task.fix_mined_functions": 10_000, "task.fix_synthetic_functions": 1.0,
    "task.fix_pair_weight": 1.0, "init": "", "init_digest": "", "fixes": "", "fixes_splits": "", "fixes_digest": "",
}  # fmt: skip
"""Settings that older configs and results lack, and what their code did. It is not always the default of today."""

_REMEDY = "use the version that wrote it, or train again with this one"


_LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "above": (operator.gt, "above"),
    "below": (operator.lt, "below"),
}


def bounded(default: float, **limits: Any) -> Any:
    """A setting with some of `_LIMITS`, of which NaN is outside, and perhaps `words` that stand for numbers."""
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Settings:
    """Checks minimums and choices where a config is made."""

    def __post_init__(self) -> None:
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if words := entry.metadata.get("words"):
                value = words.get(value, value)
                object.__setattr__(self, entry.name, value)
            for limit, (holds, words) in _LIMITS.items():
                if limit in entry.metadata and not holds(value, entry.metadata[limit]):
                    raise ValueError(f"{entry.name} is {value}; it must be {words} {entry.metadata[limit]}")
            if (choices := _choices(entry)) and value not in choices:
                raise UnknownName(entry.name, str(value), choices)


@dataclass(frozen=True)
class EncodingConfig(Settings):
    """How names become ids."""

    vocabulary_size: int = bounded(1_000, minimum=0, maximum=MAX_SIZE, words={"max": MAX_SIZE})
    """Number of values that keep their name; `max` for all values of training."""
    strategy: str = field(default="ordered", metadata={"choices": tuple(STRATEGIES)})
    """How rare names are replaced."""
    num_placeholders: int = bounded(250, minimum=0, maximum=1_000_000)
    """Number of placeholders; at least the length of the longest snippet."""
    num_subtokens: int = bounded(0, minimum=0, maximum=100_000_000)
    """Number of subtokens of names (`max` and `index` of `maxIndex`) with an embedding; the paper has none."""


@dataclass(frozen=True)
class MisuseConfig(Settings):
    """The task variable misuse: locate the wrong variable and point at the correct one."""

    name: Literal["misuse"] = "misuse"
    """Name of the task."""
    bug_sampler: Literal["paper", "local", "realistic", "published"] = "paper"
    """How bugs are sampled: between any two variables (paper), between local names in scope (local), the same with the
    names and places of real misuses preferred (realistic), or as in the published code, with its choice of functions
    and variables, and every bug in every epoch (published)."""
    similarity_weight: float = bounded(0.0, minimum=0)
    """In training with `local`, how much more probable bugs between similar names are."""
    max_function_nodes: int = bounded(250, minimum=1)
    """Longer functions are left out."""
    pointer_head: Literal["independent", "conditional"] = "independent"
    """Two independent pointers (paper), or a repair pointer conditioned on the location, over local names only."""
    usage_features: bool = False
    """Add an embedding of how often each variable is read, bound, and used before."""
    multi_bug_epochs: int = bounded(0, minimum=0)
    """Number of epochs at the start in which a function has many bugs, and each node is classified by itself."""
    multi_bug_rate: float = bounded(0.15, above=0, maximum=1)
    """Fraction of the reads of local names that is wrong in those epochs."""
    redraw_bugs: bool = False
    """Draw another bug of a function in every epoch; otherwise three bugs take turns."""
    length_exponent: float = bounded(0.0, minimum=0, maximum=10)
    """Draw functions for training in proportion to a power of their number of nodes; 0 takes each once in an epoch."""
    epoch_functions: int = bounded(0, minimum=0)
    """Number of functions that are drawn for an epoch; 0 for as many as the training split has."""
    context_nodes: int = bounded(0, minimum=0, maximum=1_000)
    """Largest number of nodes after a function about the rest of its file: functions that it names and their
    parameters, attributes that its variables have elsewhere, names of the module. 0 shows the function alone."""
    fix_epochs: int = bounded(8, minimum=0)
    """Number of epochs on real fixes, after those on the corpus; only with `--fixes`."""
    fix_learning_rate: float = bounded(0.2, above=0, maximum=1)
    """Learning rate at the beginning of those epochs, as a fraction of the peak; it falls to zero."""
    fix_tiers: str = "A"
    """Tiers of the fixes that are used, one letter each."""
    fix_clean_functions: float = bounded(4.0, minimum=0, maximum=1_000)
    """Number of clean functions for each fix."""
    fix_hard_fraction: float = bounded(0.5, minimum=0, maximum=1)
    """Fraction of them that the model flags most among `fix_mined_functions`, at the beginning of each epoch."""
    fix_mined_functions: int = bounded(10_000, minimum=1)
    """Number of clean functions among which the hard ones are sought."""
    fix_synthetic_functions: float = bounded(1.0, minimum=0, maximum=1_000)
    """Number of functions with a synthetic bug, clean and buggy, for each fix."""
    fix_pair_weight: float = bounded(1.0, minimum=0, maximum=1_000)
    """Weight of the pair loss in those epochs: the buggy version of a function should be more suspicious than the clean
    one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.similarity_weight and self.bug_sampler != "local":
            raise ValueError(f"similarity_weight needs the bug_sampler 'local', not {self.bug_sampler!r}")
        if self.context_nodes and self.pointer_head != "conditional":
            raise ValueError("context_nodes needs the pointer_head 'conditional', which points at variables only")
        if self.length_exponent and self.bug_sampler == "published":
            raise ValueError("length_exponent must be 0 with the bug_sampler 'published', which takes every function")
        if self.epoch_functions and self.bug_sampler == "published":
            raise ValueError("epoch_functions must be 0 with the bug_sampler 'published', which takes every function")
        if self.multi_bug_epochs and self.bug_sampler == "published":
            raise ValueError("multi_bug_epochs must be 0 with the bug_sampler 'published', which has one bug at a time")


@dataclass(frozen=True)
class CompletionConfig(Settings):
    """The task code completion: predict the type and the value of the next node."""

    name: Literal["completion"] = "completion"
    """Name of the task."""
    window_size: int = 500
    """Number of nodes that the model reads at once."""
    stride: int = 250
    """Nodes from one training window to the next; the overlap is context only. Evaluation uses half a window."""
    copy_pointer: bool = False
    """Let the model copy values from earlier nodes: the pointer baseline of the paper."""
    min_new_nodes: int = bounded(1, minimum=1)
    """Windows with fewer nodes that no earlier window has are left out."""
    pointer_attention: Literal["own", "last_layer"] = "own"
    """Where the pointer copies from: by a query and a key of its own, or by the attention of the last layer, averaged
    over its heads."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window_size < 2 or not 0 < self.stride <= self.window_size:
            raise ValueError("window_size must be at least 2, stride at least 1 and at most window_size")


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Size and initialization of the Transformer; the defaults are those of the paper for variable misuse."""

    d_model: int = bounded(512, minimum=1, maximum=65_536)
    """Size of the hidden states."""
    num_layers: int = bounded(6, minimum=1, maximum=1_000)
    """Number of layers."""
    num_heads: int = bounded(8, minimum=1, maximum=65_536)
    """Number of attention heads."""
    d_ff: int = bounded(2048, minimum=1, maximum=1_000_000)
    """Size of the feed-forward layer."""
    max_relative_distance: int = bounded(8, minimum=1, maximum=100_000)
    """Largest offset between two nodes that relative attention distinguishes."""
    dropout: float = bounded(0.2, minimum=0, below=1)
    """Dropout on embeddings, attention weights, and the output of attention and feed-forward layers."""
    init_tied_qk: bool = False
    """Start with equal query and key projections, so that nodes with the same value attend to each other."""
    init_copy_values: bool = False
    """Start with output projections that undo the value projections, so that attention copies its input."""
    init_neighbour_heads: bool = False
    """Start with first-layer heads that attend to the adjacent nodes; a causal model also gets an induction head."""
    scale_embeddings: bool = False
    """Multiply embeddings by √d_model where they are read (Vaswani et al. 2017)."""
    activation: Literal["relu", "gelu"] = "relu"
    """Activation of the feed-forward layer; GELU by its tanh approximation."""
    norm: Literal["pre", "mixed"] = "pre"
    """Norms before attention, before feed-forward and at the end, or only after attention and before feed-forward."""
    shared_offsets: bool = False
    """Share the vectors of relative offsets between the heads of a layer."""
    ffn_dropout: bool = False
    """Also apply dropout to the hidden units of the feed-forward layer."""
    attention: Literal["relative", "absolute"] = "relative"
    """Relative attention, or plain attention with a learned embedding of each absolute position."""
    init: Literal["scaled", "torch", "xavier"] = "scaled"
    """Initial weights: Xavier with embeddings of standard deviation 1/√d_model, torch's own, or Xavier everywhere."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model is {self.d_model}; it must be a multiple of num_heads, {self.num_heads}")
        if self.init_neighbour_heads and self.shared_offsets:
            raise ValueError("init_neighbour_heads needs offsets for each head; set shared_offsets to false")
        if self.init_neighbour_heads and self.attention == "absolute":
            raise ValueError("init_neighbour_heads needs relative offsets; set it to false, or attention to relative")


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """Optimizer, schedule and evaluation during training."""

    num_epochs: float = bounded(25.0, minimum=0)
    """Number of passes over the training examples; may be fractional."""
    max_batch_nodes: int = bounded(4_000, minimum=1)
    """Largest number of nodes in a batch, padding included."""
    optimizer: Literal["adamw", "muon", "adam"] = "adamw"
    """AdamW, Muon for the matrices of attention and feed-forward with AdamW for the rest, or Adam as torch has it."""
    learning_rate: float = bounded(1e-5, minimum=0)
    """Peak learning rate of AdamW."""
    muon_learning_rate: float = bounded(2e-3, minimum=0)
    """Peak learning rate of Muon."""
    lr_scheduler: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate falls after the warm-up."""
    warmup_steps: int = bounded(0, minimum=0)
    """Number of steps in which the learning rate rises linearly to its peak."""
    weight_decay: float = bounded(0.01, minimum=0)
    """Decoupled weight decay."""
    max_grad_norm: float = bounded(1.0, minimum=0)
    """Gradients with a larger norm are scaled down to it; 0 turns clipping off."""
    eval_every_examples: int = bounded(50_000, minimum=1)
    """Number of training examples between two evaluations on the validation split."""
    eval_examples: int = bounded(2_000, minimum=1)
    """Number of functions or windows of the validation split in such an evaluation."""
    early_stopping_patience: int = bounded(0, minimum=0)
    """Number of evaluations without improvement after which training stops; 0 never stops early."""
    save_every_seconds: float = bounded(60.0, minimum=0)
    """Seconds between two checkpoints."""
    batch_size: int = bounded(0, minimum=0)
    """Number of examples in a batch, whatever their length; 0 limits batches by `max_batch_nodes` instead."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer == "adam" and self.weight_decay:
            raise ValueError(f"weight_decay is {self.weight_decay}; adam has none: set it to 0, or choose adamw")


TaskConfig = MisuseConfig | CompletionConfig
TASK_CONFIGS: dict[str, type[TaskConfig]] = {"misuse": MisuseConfig, "completion": CompletionConfig}


@dataclass(frozen=True)
class ExperimentConfig(Settings):
    """Everything that a run depends on except the code: the same config and seed repeat the run."""

    corpus: str
    """Folder of the corpus."""
    corpus_digest: str = ""
    """Digest of the corpus; the run sets it and refuses a corpus that has changed."""
    seed: int = bounded(0, minimum=0)
    """Seed of the weights, the order of examples, the bugs and the randomized placeholders."""
    encoding: EncodingConfig = field(default_factory=EncodingConfig)
    task: TaskConfig = field(default_factory=MisuseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    init: str = ""
    """Folder of the model whose weights and encoding training starts from."""
    init_digest: str = ""
    """Digest of these weights; the run sets it."""
    fixes: str = ""
    """File with real fixes, for the last epochs of misuse (`task.fix_epochs`)."""
    fixes_splits: str = ""
    """List of projects and their splits: only fixes of the split train are used, those of validation show progress."""
    fixes_digest: str = ""
    """Digest of both files; the run sets it and refuses files that have changed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.task, CompletionConfig) and self.model.init_neighbour_heads and self.model.num_layers < 2:
            raise ValueError("model.init_neighbour_heads needs two layers in completion; use more, or set it to false")
        if self.fixes and not isinstance(self.task, MisuseConfig):
            raise ValueError("fixes are real misuses; choose the task misuse")
        if self.fixes and self.training.num_epochs % 1:
            raise ValueError(f"training.num_epochs is {self.training.num_epochs}; with fixes it must be a whole number")
        if not (self.training.num_epochs or self.fixes):
            raise ValueError("training.num_epochs is 0; it must be above 0 unless there are fixes")


def _choices(entry: dataclasses.Field[Any]) -> tuple[str, ...]:
    choices: tuple[str, ...] = get_args(entry.type) if get_origin(entry.type) is Literal else ()
    return entry.metadata.get("choices") or choices


def _default_config(task: Any) -> ExperimentConfig:
    if not isinstance(task, str) or task not in TASK_CONFIGS:
        raise UnknownName("task", str(task), TASK_CONFIGS)
    return ExperimentConfig("", task=TASK_CONFIGS[task]())


def _sections(config: ExperimentConfig) -> dict[str, Settings]:
    """The config and its tables, by the prefix of their keys."""
    return {"": config} | {f"{name}.": part for name, part in vars(config).items() if isinstance(part, Settings)}


def config_from(settings: Mapping[str, Any]) -> ExperimentConfig:
    """Build a config from settings, nested or with dotted keys; unknown keys and wrong types are errors."""
    flat = flatten(settings)
    default = _default_config(flat.get("task.name", "misuse"))
    parts: dict[str, Any] = {}
    for prefix, part in reversed(_sections(default).items()):  # the whole config comes last
        names = [key.removeprefix(prefix) for key in flat if key.startswith(prefix)]
        values = {name: _checked(prefix, name, flat.pop(prefix + name), part) for name in names}
        try:
            parts[prefix[:-1]] = type(part)(**values, **({} if prefix else parts))
        except (TypeError, ValueError) as error:
            names_a_field = hasattr(part, str(error).partition(" ")[0])
            raise UsageError(f"{prefix if names_a_field else ''}{error}") from error
    config: ExperimentConfig = parts[""]
    return config


def _checked(prefix: str, name: str, value: Any, part: Settings) -> Any:
    """A value that has the type of the setting's default; a float may be given as an int."""
    key = prefix + name
    if name not in vars(part):
        raise UsageError(f"no setting {key!r}; choose one of {', '.join(prefix + each for each in vars(part))}")
    expected, words = type(getattr(part, name)), part.__dataclass_fields__[name].metadata.get("words", {})
    value = words.get(value, value) if isinstance(value, str) else value
    if issubclass(expected, Settings):
        raise UsageError(f"{key} is a table of settings, not {value!r}")
    if type(value) is not expected and (type(value), expected) != (int, float):
        raise UsageError(f"{key} is {value!r}; expected {expected.__name__}")
    if isinstance(value, int | float) and abs(value) >= MAX_NUMBER:
        raise UsageError(f"{key} is {shorten(value)}; expected a number below 2**63")
    return expected(value)


def load_config(path: Path) -> ExperimentConfig:
    """Read a file of `save_config`. Only `ADDED_SETTINGS` may be missing: the run may have used other defaults."""
    settings = load_settings(path)
    known = flatten(dataclasses.asdict(_default_config(settings.get("task.name", "misuse")))).keys()
    settings = {key: value for key, value in ADDED_SETTINGS.items() if key in known} | settings
    problems = [f"{key} is missing" for key in sorted(known - settings.keys())]
    problems += [f"{key} is unknown" for key in sorted(settings.keys() - known)]
    if problems:
        raise RunError(f"{path} was written by another version of rarename: {', '.join(problems)}; {_REMEDY}")
    try:
        return config_from(settings)
    except (UsageError, UnknownName) as error:
        raise UsageError(f"{path}: {error}") from error


def load_settings(path: Path) -> dict[str, Any]:
    """Read some or all settings from a TOML file, with dotted keys."""
    try:
        settings = flatten(read_toml(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if (version := settings.pop("version", FORMAT_VERSION)) != FORMAT_VERSION:
        raise RunError(f"{path} has format version {version!r}, this rarename reads {FORMAT_VERSION}; {_REMEDY}")
    return settings


def save_config(config: ExperimentConfig, path: Path) -> None:
    """Write a config as TOML."""
    import tomli_w  # not needed to read one

    write_text(path, tomli_w.dumps({"version": FORMAT_VERSION} | dataclasses.asdict(config)))


def mismatches(config: ExperimentConfig, other: ExperimentConfig) -> list[str]:
    """List the settings in which two configs differ.

    >>> mismatches(ExperimentConfig("a"), ExperimentConfig("a", seed=3))
    ['seed (0, not 3)']
    """
    ours, theirs = (flatten(dataclasses.asdict(each)) for each in (config, other))
    keys = [*ours, *(key for key in theirs if key not in ours)]
    return [f"{key} ({ours.get(key)!r}, not {theirs.get(key)!r})" for key in keys if ours.get(key) != theirs.get(key)]


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested tables into one table with dotted keys.

    >>> flatten({"seed": 0, "model": {"d_model": 64}})
    {'seed': 0, 'model.d_model': 64}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


class Setting(NamedTuple):
    """One key that a user can set."""

    key: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()


def describe(task: str) -> Iterator[Setting]:
    """List every key of a task's config with its default and its help text."""
    for prefix, part in _sections(_default_config(task)).items():
        help_texts = _field_docstrings(type(part))
        for entry in dataclasses.fields(part):
            if entry.name in help_texts:
                default = None if entry.default is dataclasses.MISSING else entry.default
                yield Setting(prefix + entry.name, default, help_texts[entry.name], _choices(entry))


def _field_docstrings(config_class: type) -> dict[str, str]:
    """Read the string below each field from the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(config_class))).body
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for node, following in zip(tree.body, tree.body[1:], strict=False):
        match node, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
