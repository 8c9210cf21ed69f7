import torch

from world_models.learned.model import ENDINGS, Heads
from world_models.learned.network import EnsembleNetwork, MemberLinear, one_thread


def test_member_layers_are_independent() -> None:
    layer = MemberLinear(3, 5, 2)
    inputs = torch.randn(4, 5)
    expected = torch.stack([inputs @ layer.weight[i] + layer.bias[i] for i in range(3)])
    assert torch.allclose(layer(inputs), expected)
    network = EnsembleNetwork(3, 5, 2, 4, Heads.size(1))
    outputs = network(inputs, torch.randn(4, 2))
    assert outputs.shape == (3, 4, len(ENDINGS) + len(ENDINGS) + 3)
    outputs[1].sum().backward()
    gradient = network.head.weight.grad
    assert gradient is not None and not gradient[0].any() and gradient[1].any()


def test_one_thread_is_given_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
