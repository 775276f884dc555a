"""dat-bpe: exact byte-level BPE for every byte string, in C.

    from tokassay.engines.dat_bpe import Encoder
    Encoder.load("gpt2").encode(b"hello world")    # numpy.uint32 array: 31373, 995
"""

from tokassay.engines.dat_bpe.added import AddedToken
from tokassay.engines.dat_bpe.encoder import Encoder
from tokassay.engines.dat_bpe.errors import ForeignError, LoadError, PatternError, ProfileError, Refusal

__all__ = [
    "AddedToken", "Encoder", "ForeignError", "LoadError", "PatternError", "ProfileError", "Refusal", "__version__",
]
__version__ = "0.1.0"
