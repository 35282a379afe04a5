"""commcomp.torch.worker: the thread beside the training, and the program's end."""

import os
import subprocess
import sys
import threading
import time

from commcomp.torch.worker import Worker

# The program ends while the thread is still busy with a call.
ENDING = """
import sys, threading, time
from commcomp.torch.worker import Worker

begun = threading.Event()

def slow():
    begun.set()
    time.sleep(0.5)
    print("done", flush=True)

worker = Worker()
worker.put(slow)
begun.wait()
"""


def test_the_program_waits_for_it():
    package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
    done = subprocess.run([sys.executable, "-c", ENDING], env={**os.environ, "PYTHONPATH": package},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def threads():
    return [t for t in threading.enumerate() if t.name == "commcomp"]


def test_it_keeps_the_order_and_ends_with_its_worker():
    before, seen, worker = len(threads()), [], Worker()
    for i in range(100):
        worker.put(seen.append, i)
    assert len(threads()) == before + 1
    del worker  # after its calls
    end = time.monotonic() + 10
    while len(threads()) > before and time.monotonic() < end:
        time.sleep(0.01)
    assert seen == list(range(100)) and len(threads()) == before
