"""A bucket's gradients as float32 in the CPU's memory, where codecs work.

A float32 bucket on the CPU is used in place. A bucket on a GPU is copied to pinned memory and back by a
stream of its own, beside the backward pass, which goes on computing the next bucket.
"""

import contextlib

import torch


class Staging:
    def __init__(self, buffer):
        self._cuda = buffer.is_cuda
        self._direct = not self._cuda and buffer.dtype == torch.float32
        self._like = (buffer.device, buffer.dtype, buffer.numel())
        self.devices = [buffer.device] if self._cuda else None  # those of the future that hands it back
        if not self._direct:
            self._host = torch.empty(buffer.numel(), dtype=torch.float32, pin_memory=self._cuda)
        if self._cuda:
            self._stream, self._arrived = torch.cuda.Stream(buffer.device), torch.cuda.Event()

    def fits(self, buffer):
        return self._like == (buffer.device, buffer.dtype, buffer.numel())

    def context(self):
        """For the thread that uses the values: GPU work in it belongs to the stream of the copies."""
        return torch.cuda.stream(self._stream) if self._cuda else contextlib.nullcontext()

    def begin(self, buffer):
        """Called where the bucket is ready, in the backward pass, which it does not hold up."""
        if self._cuda:
            self._stream.wait_stream(torch.cuda.current_stream(buffer.device))
            with torch.cuda.stream(self._stream):
                buffer.record_stream(self._stream)
                self._host.copy_(buffer.float(), non_blocking=True)
                self._arrived.record(self._stream)

    def values(self, buffer):
        """The values, as soon as they have arrived. To be called within context()."""
        if self._direct:
            return buffer
        if self._cuda:
            self._arrived.synchronize()
        else:
            self._host.copy_(buffer)
        return self._host

    def end(self, buffer):
        """Brings what has become of the values back to the bucket. Within context(), in which the
        future that hands the bucket back must be completed, so that others wait for this copy."""
        if not self._direct:
            buffer.copy_(self._host, non_blocking=True)
