"""AVX-512 for MKL on AMD processors."""

import subprocess
import sys

import pytest
import torch

from rarename.errors import UsageError
from rarename.training.mkl import allow_avx512

PROGRAM = """
import ctypes, pathlib, torch
from rarename.training.mkl import allow_avx512

allow_avx512()
library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
print(library.mkl_serv_intel_cpu_true(), (torch.arange(6.0).view(2, 3) @ torch.ones(3, 1)).tolist())
"""


def test_mkl_takes_the_processor_for_one_of_intel():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    if "UsageError" in done.stderr:
        pytest.skip("this processor has no AVX-512, or this torch no MKL")
    assert done.stdout == "1 [[3.0], [12.0]]\n"


def test_a_torch_without_mkl_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    with pytest.raises(UsageError, match="a torch with MKL; leave the option out"):
        allow_avx512()
