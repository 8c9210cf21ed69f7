"""Members of an ensemble as one network: every layer multiplies all members' weights at once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["EnsembleNetwork", "MemberLinear", "one_thread"]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch on one thread: layers this small only lose by more, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class MemberLinear(nn.Module):
    """``E`` independent linear layers: (E, B, ins) -> (E, B, outs), or (B, ins) for an input that all share."""

    def __init__(self, members: int, ins: int, outs: int) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(ins)
        self.weight = nn.Parameter(torch.empty(members, ins, outs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(members, 1, outs))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs @ self.weight + self.bias


class EnsembleNetwork(nn.Module):
    """What a solution and a task are to each other.

    Both are embedded; their sum and their product, which says what the one means on the other, go through a hidden
    layer to the outputs.

    Args:
        members: E, size of the ensemble.
        code: number of code features.
        task: number of task features.
        hidden: width of the embeddings.
        outputs: K.
    """

    def __init__(self, members: int, code: int, task: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.sizes = {"members": members, "code": code, "task": task, "hidden": hidden, "outputs": outputs}
        self.code = MemberLinear(members, code, 2 * hidden)
        self.task = MemberLinear(members, task, 2 * hidden)
        self.mixed = MemberLinear(members, 2 * hidden, hidden)
        self.head = MemberLinear(members, hidden, outputs)

    def forward(self, code: Tensor, task: Tensor, dropout: float = 0.0) -> Tensor:
        """Outputs (E, B, K) for code (B, C) and task (B, T) or (E, B, T) features."""
        added, scaled = self.code(code).chunk(2, dim=-1)
        shift, gain = self.task(task).chunk(2, dim=-1)
        embedded = torch.cat([functional.silu(added + shift), scaled * torch.tanh(gain)], dim=-1)
        embedded = functional.dropout(embedded, dropout, training=dropout > 0)
        mixed = functional.silu(self.mixed(embedded))
        return self.head(functional.dropout(mixed, dropout, training=dropout > 0))
