"""A thread that handles calls in order, beside the training, and has ended when Python ends.

PyTorch completes a future, and calls what waits for it, in the thread that has finished the work. A
thread of gloo that is still on its way out of Python when the program ends aborts the process. All that
Python has to do after a collective operation is therefore done here, and the program's end waits for it.
"""
from __future__ import annotations

import atexit
import functools
import queue
import threading
import weakref
from typing import Any, Callable

# Seconds that the program's end waits for a thread, which may wait for a rank that is dead.
PATIENCE = 5.0


class Worker:
    """The thread begins with the first call, and ends with its Worker. To be made after the objects
    that the calls use: what is to be done at the program's end is done in reverse order."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, function: Callable[..., None], *arguments: Any) -> None:
        """Has the thread call function(*arguments), which raises nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=_work, args=(self._queue,), name="commcomp", daemon=True)
            self._thread.start()
            _workers().add(self)
        self._queue.put(functools.partial(function, *arguments))

    def end(self) -> None:
        """Waits until all calls are done."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def __del__(self) -> None:
        self._queue.put(None)


def _work(calls: queue.SimpleQueue[Any]) -> None:
    """Without a reference to the Worker, so that it can go."""
    call = calls.get()
    while call is not None:
        call()
        del call
        call = calls.get()


@functools.lru_cache(maxsize=None)
def _workers() -> weakref.WeakSet[Worker]:
    """All that have a thread."""
    workers: weakref.WeakSet[Worker] = weakref.WeakSet()
    atexit.register(lambda: [worker.end() for worker in list(workers)])
    return workers


def deliver(future: Any) -> Any:
    """A future's value; an exception that is its value is raised, as it then arrives in backward()."""
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value
