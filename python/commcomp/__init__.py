"""Gradient compression: the codecs, containers and traces of commcomp.

>>> from commcomp import Codec
>>> codec = Codec("3lc:s=1.75", (64, 3, 3, 3))
>>> data = codec.encode(gradient, step=0)
>>> update = codec.decode(data, step=0)

Values are float32 arrays of numpy or CPU tensors of PyTorch, which are not copied. docs/python.md
has examples; commcomp.torch is for trainings with PyTorch.
"""

from ._library import Error
from .catalogue import Parameter, Scheme, schemes, version
from .codec import Codec
from .container import Container, write_container
from .trace import Trace, TraceWriter

__all__ = [
    "Codec",
    "Container",
    "Error",
    "Parameter",
    "Scheme",
    "Trace",
    "TraceWriter",
    "schemes",
    "version",
    "write_container",
]
