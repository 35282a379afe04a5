"""Gradient compression: the codecs, containers and traces of commcomp.

>>> from commcomp import Codec
>>> codec = Codec("3lc:s=1.75", (64, 3, 3, 3))
>>> data = codec.encode(gradient, step=0)
>>> update = codec.decode(data, step=0)

Values are float32 arrays of numpy or CPU tensors of PyTorch, which are not copied. help(Codec) has the rest.
"""

from ._library import Error
from .catalogue import Parameter, Scheme, schemes, version
from .codec import Codec

__all__ = ["Codec", "Error", "Parameter", "Scheme", "schemes", "version"]
