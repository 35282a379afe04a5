"""Real processes for the tests of commcomp.torch: ranks of a gloo group on the loopback interface.

A test calls run(world, function, ...), where function(rank, world, ...) is at the top level of a
module. It returns what each rank returned. A rank that fails makes run() fail with its traceback;
nothing outlives the time limit.
"""
import datetime
import os
import tempfile
import time
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _context():
    """Ranks are forks of a process that has loaded torch and done nothing else."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.distributed", "numpy"])
    return context


class RankFailed(AssertionError):
    pass


def _main(rank, world, folder, limit, function, args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank,
                                world_size=world, timeout=datetime.timedelta(seconds=limit))
        result, error = function(rank, world, *args), None
    except Exception:
        result, error = None, traceback.format_exc()
    torch.save((result, error), f"{folder}/{rank}.part")
    os.replace(f"{folder}/{rank}.part", f"{folder}/{rank}.pt")
    os._exit(0)  # threads of gloo that wait for a dead rank do not keep this one


def outcomes(world, function, *args, limit=60):
    """For each rank (result, None), or (None, traceback), or None if it died or ran out of time."""
    with tempfile.TemporaryDirectory() as folder:
        context = _context()
        ranks = [context.Process(target=_main, daemon=True,
                                 args=(r, world, folder, limit, function, args))
                 for r in range(world)]
        for process in ranks:
            process.start()
        end = time.monotonic() + limit
        for process in ranks:
            process.join(max(0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        files = [f"{folder}/{r}.pt" for r in range(world)]
        return [torch.load(f) if os.path.exists(f) else None for f in files]


def run(world, function, *args, limit=60):
    found = outcomes(world, function, *args, limit=limit)
    for rank, outcome in enumerate(found):
        if outcome is None:
            failed = [f"rank {r}:\n{o[1]}" for r, o in enumerate(found) if o is not None and o[1]]
            raise RankFailed("\n".join([f"rank {rank} died or took longer than {limit} s"] + failed))
        if outcome[1] is not None:
            raise RankFailed(f"rank {rank}:\n{outcome[1]}")
    return [result for result, _ in found]
