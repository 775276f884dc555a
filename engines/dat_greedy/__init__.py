"""dat-greedy: greedy longest match over Crayon's double array, in C. This is not BPE.

    from tokassay.engines.dat_greedy import Greedy
    Greedy.load("gpt2").encode(b"hello world")    # numpy.uint32 array: 31373, 995
"""

from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_greedy.crayon import CrayonVocab
from tokassay.engines.dat_greedy.greedy import Greedy

__all__ = ["CrayonVocab", "Greedy", "LoadError", "__version__"]
__version__ = "0.1.0"
