"""Where the embeddings of placeholders lie, and where those of names (paper, appendix D)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.experiment.run import ENCODING, WEIGHTS
from rarename.vocabulary import Special

TENSOR = "transformer.values.weight"
PERPLEXITY = 30.0
"""The default of t-SNE, which the paper takes."""

Floats = NDArray[np.float64]


def check_installed() -> None:
    """Say what to install before training begins, not after."""
    if find_spec("sklearn") is None:
        raise UsageError("embeddings need the package scikit-learn; install it with rarename[report]")


def look_at_embeddings(run: Path) -> dict[str, Any]:
    """The value embeddings of a run's best weights, in two dimensions, and how alike they are.

    Special values are left out. A point is `[x, y, "placeholder" or "vocabulary", name]`.
    """
    encoding = Encoding.load(run / ENCODING)
    try:
        with safe_open(run / WEIGHTS, framework="numpy") as file:
            vectors: Floats = file.get_tensor(TENSOR).astype(np.float64)[len(Special) :]
    except (OSError, SafetensorError) as error:
        raise RunError(f"{run / WEIGHTS} is missing or damaged: {error}") from error
    names = encoding.spell(range(len(Special), encoding.num_values))
    num_names = encoding.first_placeholder - len(Special)
    kinds = ["vocabulary"] * num_names + ["placeholder"] * (len(names) - num_names)
    points = in_two_dimensions(vectors)
    return {
        "points": [
            [round(x, 3), round(y, 3), kind, name]
            for (x, y), kind, name in zip(points.tolist(), kinds, names, strict=True)
        ],
        "cosine": {
            "within_placeholders": mean_cosine(vectors[num_names:]),
            "within_vocabulary": mean_cosine(vectors[:num_names]),
            "between": mean_cosine(vectors[num_names:], vectors[:num_names]),
        },
    }


def in_two_dimensions(vectors: Floats) -> Floats:
    """t-SNE with the cosine metric; few vectors have fewer neighbours."""
    from sklearn.manifold import TSNE

    if len(vectors) < 3:
        return np.zeros((len(vectors), 2))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    points: Floats = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(vectors)
    return points


def mean_cosine(vectors: Floats, others: Floats | None = None) -> float:
    """The mean over all pairs of one of each; over all pairs of different ones, if there is one group.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    0.3333
    >>> mean_cosine(np.array([[1.0, 0.0]]), np.array([[-2.0, 0.0]]))
    -1.0
    """
    ours = _directions(vectors).sum(axis=0)
    if others is None:
        number = len(vectors) * (len(vectors) - 1)
        total = float(ours @ ours) - float((_directions(vectors) ** 2).sum())
    else:
        number = len(vectors) * len(others)
        total = float(ours @ _directions(others).sum(axis=0))
    return round(total / number, 4) if number else 0.0


def _directions(vectors: Floats) -> Floats:
    directions: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return directions
