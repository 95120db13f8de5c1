"""AVX-512 on AMD processors for MKL, the matrix library of torch on x86.

MKL asks a function of its own whether the processor is made by Intel, and avoids AVX-512 if it is not. A training step
takes up to twice as long for it. `allow_avx512` makes the function return true.
"""

import ctypes
import mmap
import sys
from pathlib import Path

import torch

from rarename.errors import UsageError

_RETURN_TRUE = b"\xb8\x01\x00\x00\x00\xc3"  # mov eax, 1; ret
_READ_WRITE_EXECUTE, _READ_EXECUTE = 7, 5


def allow_avx512() -> None:
    """Let MKL use AVX-512 in this process; call it before the first matrix product."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8") if sys.platform == "linux" else ""
    if "avx512f" not in flags or not torch.backends.mkl.is_available():  # type: ignore[no-untyped-call]
        raise UsageError("--avx512 needs Linux, a processor with AVX-512 and a torch with MKL; leave the option out")
    if "AuthenticAMD" not in flags:
        return  # MKL uses it already
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    try:
        address = ctypes.cast(library.mkl_serv_intel_cpu_true, ctypes.c_void_p).value
    except AttributeError as error:
        raise UsageError("this torch has another MKL, which --avx512 does not know; leave the option out") from error
    assert address is not None
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    start = address - address % mmap.PAGESIZE
    page = ctypes.c_void_p(start), ctypes.c_size_t(address + len(_RETURN_TRUE) - start)
    if mprotect(*page, _READ_WRITE_EXECUTE):
        raise UsageError("the system does not let --avx512 change the code of MKL; leave the option out")
    ctypes.memmove(address, _RETURN_TRUE, len(_RETURN_TRUE))
    mprotect(*page, _READ_EXECUTE)
