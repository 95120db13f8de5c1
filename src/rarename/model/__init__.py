"""Ids to hidden states. This package is about tensors only, not about code.

Letters for the sizes of axes in shape comments:

    B  snippets in a batch      D  d_model                 H  heads
    L  nodes in a snippet       K  size of a head          O  relative offsets
    S  keys; S > L with a cache V  values                  T  node types
"""
