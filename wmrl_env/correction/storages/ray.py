"""Anchor pairs in an actor of a Ray cluster, shared by all its processes."""

from __future__ import annotations

import os
from typing import Any

from wmrl_env.correction.anchor_pair import AnchorPair
from wmrl_env.correction.storages import MemoryStorage

__all__ = ["NAMESPACE", "RayStorage"]

NAMESPACE = "wmrl"
"""Ray namespace of the actors."""


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("a ray:// stream needs Ray: pip install 'wmrl[ray]'") from error
    return ray


class RayStorage:
    """Pairs in a named actor, which is detached: it outlives the process that made it, but not its node.

    End it by ``ray.kill(ray.get_actor(name, namespace="wmrl"))``. Every method waits for the actor's answer.

    Args:
        name: of the actor.

    Raises:
        ImportError: by every method, where Ray is not installed.
        ConnectionError: by every method, where the cluster or the actor cannot be reached.
        RuntimeError: by every method, in a process that was forked from one that used the storage.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._actor: Any = None
        self._connection = ""  # of this process to the cluster, through which the actor is known
        self._pid = os.getpid()

    def append(self, pairs: list[AnchorPair]) -> None:
        self._call("append", pairs)

    def read(self, cursor: int) -> list[AnchorPair]:
        return self._call("read", cursor)

    def size(self) -> int:
        return self._call("size")

    def _call(self, method: str, *args: Any) -> Any:
        ray = _ray()
        if os.getpid() != self._pid and self._actor is not None:  # it would wait for ever
            raise RuntimeError(
                f"stream 'ray://{self.name}' was opened before a fork, which no connection to Ray survives; open it in "
                "a process begun by the method 'spawn'"
            )
        try:
            if not ray.is_initialized():
                ray.init(log_to_driver=False)
            connection = ray.get_runtime_context().get_worker_id()
            if self._actor is None or self._connection != connection:
                actor = ray.remote(MemoryStorage).options(
                    name=self.name, namespace=NAMESPACE, get_if_exists=True, lifetime="detached", num_cpus=0
                )
                self._actor, self._connection, self._pid = actor.remote(), connection, os.getpid()
            return ray.get(getattr(self._actor, method).remote(*args))
        except ray.exceptions.RayActorError as error:
            raise ConnectionError(
                f"the actor of stream 'ray://{self.name}' is lost, and its pairs with it: {error}; open a stream of "
                "another name"
            ) from error
        except ConnectionError as error:
            raise ConnectionError(
                f"stream 'ray://{self.name}' finds no cluster: {error}; begin one by `ray start --head`, or name one "
                "by RAY_ADDRESS or ray.init(address=...) before the stream is opened"
            ) from error

    def __reduce__(self) -> tuple[type[RayStorage], tuple[str]]:
        return type(self), (self.name,)
