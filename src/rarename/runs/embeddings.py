"""Where the embeddings of placeholders and of names lie (paper, appendix D)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.inference.model_folder import ENCODING
from rarename.training.checkpoint import WEIGHTS
from rarename.vocabulary import Special

PERPLEXITY = 30.0
"""The default of t-SNE, which the paper uses."""

Floats = NDArray[np.float64]


def check_installed() -> None:
    """Report a missing package before training, not after."""
    if find_spec("sklearn") is None:
        raise UsageError("embeddings need scikit-learn; install it with pip install 'rarename[report]'")


def analyze_embeddings(run: Path) -> dict[str, Any]:
    """The value embeddings of a run in two dimensions, and their mean cosine similarity within and between groups.

    Special values are left out. A point is `[x, y, "placeholder" or "vocabulary", name]`.
    """
    encoding = Encoding.load(run / ENCODING)
    try:
        with safe_open(run / WEIGHTS, framework="numpy") as file:
            vectors: Floats = file.get_tensor("transformer.values.weight").astype(np.float64)[len(Special) :]
    except (OSError, SafetensorError) as error:
        raise RunError(f"{run / WEIGHTS} is missing or damaged: {error}") from error
    names = encoding.to_text(range(len(Special), encoding.num_values))
    num_names = encoding.first_placeholder - len(Special)
    groups = ["vocabulary"] * num_names + ["placeholder"] * (len(names) - num_names)
    return {
        "points": [
            [round(x, 3), round(y, 3), group, name]
            for (x, y), group, name in zip(project(vectors).tolist(), groups, names, strict=True)
        ],
        "cosine": {
            "within_placeholders": mean_cosine(vectors[num_names:]),
            "within_vocabulary": mean_cosine(vectors[:num_names]),
            "between": mean_cosine(vectors[num_names:], vectors[:num_names]),
        },
    }


def project(vectors: Floats) -> Floats:
    """Project to two dimensions by t-SNE with the cosine metric."""
    from sklearn.manifold import TSNE

    if len(vectors) < 3:
        return np.zeros((len(vectors), 2))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    points: Floats = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(vectors)
    return points


def mean_cosine(vectors: Floats, others: Floats | None = None) -> float:
    """The mean cosine over all pairs of two groups, or over all pairs of different vectors of one group.

    >>> mean_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    0.3333
    >>> mean_cosine(np.array([[1.0, 0.0]]), np.array([[-2.0, 0.0]]))
    -1.0
    """
    directions = _normalize(vectors)
    total = directions.sum(axis=0)
    if others is None:
        num_pairs = len(vectors) * (len(vectors) - 1)
        cosine_sum = float(total @ total) - float((directions**2).sum())
    else:
        num_pairs = len(vectors) * len(others)
        cosine_sum = float(total @ _normalize(others).sum(axis=0))
    return round(cosine_sum / num_pairs, 4) if num_pairs else 0.0


def _normalize(vectors: Floats) -> Floats:
    directions: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return directions
