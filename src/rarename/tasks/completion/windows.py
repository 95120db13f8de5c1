"""Windows of files: long files are cut, with an overlap that is context only (paper, section 4.1; Kim et al. 2021)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Window:
    """A window of a file; the arrays are views with one entry per node."""

    types: NDArray[np.int16]  # rank ids; a type that the encoding lacks is `Special.UNK.rank`
    values: NDArray[np.integer]  # rank ids
    roles: NDArray[np.int8]
    num_context: int = 0
    """Number of nodes at the start that are no targets, because they are targets of the window before."""
    project: int = 0  # an index into `WindowDataset.project_names`

    def __len__(self) -> int:
        return len(self.types)
