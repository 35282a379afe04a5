"""commcomp's side of a comparison with a peer in Python: codecs through the Python package."""

import numpy as np
from commcomp import Codec

from measure import Side, matrix, timed


class OwnCodec(Side):
    """Payloads, as the hook of commcomp.torch sends them."""

    def __init__(self, scheme, values, threads):
        super().__init__(values)
        self.codec = Codec(scheme, values, threads=threads)
        self.payload = np.zeros(self.codec.bound, np.uint8)
        self.y = np.zeros(values, np.float32)
        self.number, self.used = 0, None

    def encode(self):
        self.number += 1
        taken = timed(self._encode)
        self.bits = 8 * self.used.size / self.x.size
        return taken

    def _encode(self):
        self.used = self.codec.encode(self.x, self.payload, step=self.number)

    def decode(self):
        return timed(self.codec.decode, self.used, self.y, step=self.number)

    def decode_add(self):
        return timed(self.codec.decode_add, self.used, self.y, step=self.number)

    def step(self):
        """The gradient is replaced by what is decoded."""
        return self.encode() + timed(self.codec.decode, self.used, self.x, step=self.number)


class OwnRounds(Side):
    """Sums of floats, as the hook of commcomp.torch sends what can be summed; of a square matrix."""

    def __init__(self, scheme, values, threads):
        super().__init__(values)
        self.codec = Codec(scheme, matrix(values), threads=threads)
        self.sums = [np.zeros(self.codec.round_bytes(i) // 4, np.float32) for i in range(self.codec.rounds)]
        self.bits = 32 * sum(s.size for s in self.sums) / values
        self.number = 0

    def step(self):
        self.number += 1
        return timed(self._step)

    def _step(self):
        for i, floats in enumerate(self.sums):
            self.codec.encode_round(i, self.x, floats, step=self.number)
            if i == len(self.sums) - 1:
                self.x.fill(0)
            self.codec.absorb(i, floats, self.x, step=self.number)
