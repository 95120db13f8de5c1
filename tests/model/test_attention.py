"""Relative attention: kernel, plain form and exported form against a loop over pairs, dropout, KV cache."""

import math

import pytest
import torch
import torch.nn.functional as F

from rarename.model import kernel
from rarename.model.attention import RelativeAttention
from rarename.model.kv_cache import KVCache


def make_attention(max_distance, dropout=0.0, causal=True, shared_offsets=False):
    torch.manual_seed(0)
    attention = RelativeAttention(8, 2, max_distance, dropout, causal, shared_offsets).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def reference_attention(attention, hidden_states, attention_mask):
    """Shaw et al. 2018, equations 3 and 4, one query and one key at a time."""
    batch, length, d_model = hidden_states.shape
    qkv = attention.qkv_proj(hidden_states).view(batch, length, 3, attention.num_heads, -1)
    d_head, limit = d_model // attention.num_heads, attention.max_distance
    output = torch.zeros(batch, length, attention.num_heads, d_head, dtype=hidden_states.dtype)
    for b in range(batch):
        for h in range(attention.num_heads):
            q, k, v = (qkv[b, :, part, h] for part in range(3))
            for i in range(length):
                keys = [j for j in range(length) if attention_mask[b, j] and (j <= i or not attention.causal)]
                offsets = [max(-limit, min(limit, j - i)) + limit for j in keys]
                table = h % len(attention.rel_keys)  # one for each head, or one for all
                rel_keys, rel_values = attention.rel_keys[table, offsets], attention.rel_values[table, offsets]
                weights = ((k[keys] + rel_keys) @ q[i] / math.sqrt(d_head)).softmax(dim=0)
                output[b, i, h] = weights @ (v[keys] + rel_values)
    return attention.out_proj(output.flatten(2))


def plain_forward(attention, hidden_states, attention_mask):
    """All pairs at once, with `gather` and `scatter` by offset."""
    length, limit = hidden_states.shape[1], attention.max_distance
    qkv = attention.qkv_proj(hidden_states).view(*hidden_states.shape[:2], 3, attention.num_heads, -1)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    q = q / math.sqrt(q.shape[-1])
    offsets = torch.arange(length) - torch.arange(length)[:, None]
    is_visible = attention_mask[:, None, None] & ((offsets <= 0) | (not attention.causal))
    index = (offsets.clamp(-limit, 0 if attention.causal else limit) + limit).expand(*q.shape[:2], -1, -1)
    scores = q @ k.mT + (q @ attention.rel_keys.mT).gather(-1, index)
    weights = scores.masked_fill(~is_visible, -1e30).softmax(dim=-1)
    weights = F.dropout(weights, attention.dropout, attention.training)
    per_offset = weights.new_zeros(*q.shape[:3], attention.rel_values.shape[1]).scatter_add(-1, index, weights)
    return attention.out_proj((weights @ v + per_offset @ attention.rel_values).transpose(1, 2).flatten(2))


def exported_forward(attention, hidden_states, attention_mask):
    """`forward` as it is exported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.compiler, "is_exporting", lambda: True)
        return attention(hidden_states, attention_mask)


@pytest.mark.parametrize("shared_offsets", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "max_distance"), [(1, 2), (3, 4), (7, 2), (9, 8), (11, 3)])
def test_attention_equals_the_formula_in_values_and_gradients(
    length, max_distance, causal, shared_offsets, monkeypatch
):
    monkeypatch.setattr(kernel, "BLOCK_SIZE", 4)
    attention = make_attention(max_distance, causal=causal, shared_offsets=shared_offsets)
    assert len(attention.rel_keys) == len(attention.rel_values) == (1 if shared_offsets else 2)
    hidden_states = torch.randn(2, length, 8, dtype=torch.double, requires_grad=True)
    attention_mask = torch.ones(2, length, dtype=torch.bool)
    attention_mask[1, length // 2 + 1 :] = False
    weights = torch.randn(2, length, 8, dtype=torch.double) * attention_mask[:, :, None]
    results = []
    for forward in (RelativeAttention.__call__, plain_forward, exported_forward, reference_attention):
        output = forward(attention, hidden_states, attention_mask) * attention_mask[:, :, None]
        gradients = torch.autograd.grad((output * weights).sum(), [hidden_states, *attention.parameters()])
        results.append([output, *gradients])
    for *computed, reference in zip(*results, strict=True):
        for each in computed:
            torch.testing.assert_close(each, reference)


@pytest.mark.parametrize("causal", [False, True])
def test_dropout_of_the_kernel_equals_dropout_of_the_plain_form(causal, monkeypatch):
    attention = make_attention(3, dropout=0.4, causal=causal)
    hidden_states = torch.randn(2, 7, 8, dtype=torch.double, requires_grad=True)
    is_kept = torch.rand(2, 2, 7, 7) > 0.4
    monkeypatch.setattr(F, "dropout", lambda weights, rate, training=True: drop(weights, is_kept, rate))
    results = []
    for forward in (RelativeAttention.__call__, plain_forward):
        output = forward(attention, hidden_states, torch.ones(2, 7, dtype=torch.bool))
        results.append([output, *torch.autograd.grad(output.square().sum(), [hidden_states, *attention.parameters()])])
    for computed, plain in zip(*results, strict=True):
        torch.testing.assert_close(computed, plain)
    mask = torch.ones(2, 7, dtype=torch.bool)
    expected = reference_attention(attention.eval(), hidden_states, mask)
    torch.testing.assert_close(attention(hidden_states, mask), expected)  # no dropout in evaluation


def drop(weights, is_kept, rate):
    padding = weights.shape[-1] - is_kept.shape[-1]  # the kernel pads keys by 3, on the left or on both sides
    return weights * F.pad(is_kept, (min(padding, 3), max(0, padding - 3))) / (1 - rate)


@pytest.mark.parametrize("steps", [[6], [1] * 6, [3, 2, 1]])
@pytest.mark.parametrize("is_exporting", [False, True], ids=["kernel", "exported"])
def test_reading_with_a_kv_cache_equals_reading_at_once(steps, is_exporting, monkeypatch):
    attention = make_attention(2)
    hidden_states = torch.randn(2, 6, 8, dtype=torch.double)
    mask = torch.ones(2, 6, dtype=torch.bool)
    expected = reference_attention(attention, hidden_states, mask)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: is_exporting)
    cache, start, outputs = KVCache(), 0, []
    for step in steps:
        outputs.append(attention(hidden_states[:, start : start + step], mask[:, : start + step], cache))
        start += step
    torch.testing.assert_close(torch.cat(outputs, dim=1), expected)
