"""Imports point one way, and torch stays out of the torch-free half."""

import subprocess
import sys

import rarename


def test_nothing_heavy_is_imported_before_it_is_needed():
    """`rarename --help` and a pipeline that anonymizes pay for neither torch nor Arrow."""
    code = (
        "import sys, rarename, rarename.cli.main, rarename.cli.anonymize, rarename.cli.check;"
        "print(*{'torch', 'pyarrow', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_torch_is_not_loaded_by_preparing():
    code = "import sys, rarename.corpus.build; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_public_names():
    assert rarename.__all__ == sorted(rarename.__all__, key=lambda name: (not name.isupper(), name))
    assert set(rarename.__all__) == {
        "LANGUAGES", "STRATEGIES", "Anonymized", "AnonymizedSource", "Encoded", "Encoding", "Language",
        "RarenameError", "Role", "Special", "Traversal", "Vocabulary", "anonymize_ranks",
        "anonymize_source", "anonymize_values", "parse",
    }  # fmt: skip
    assert all(hasattr(rarename, name) for name in rarename.__all__)
