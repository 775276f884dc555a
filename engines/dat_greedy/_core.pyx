# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Greedy longest match over a CRAY double array, in C."""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

import numpy


cdef extern from "common.h" nogil:
    ctypedef enum dat_status:
        DAT_OK
        DAT_NO_MEMORY
        DAT_BAD_ID
        DAT_MISSING_BYTE
        DAT_DUPLICATE_TEXT
        DAT_DUPLICATE_ID
        DAT_EMPTY_TOKEN
    ctypedef struct dat_ids:
        uint32_t *items
        size_t count
        size_t room
    void *dat_alloc(size_t count, size_t size)
    void *dat_zeroed(size_t count, size_t size)
    void dat_free(void *block)
    void dat_ids_fit(dat_ids *ids)
    void dat_ids_clear(dat_ids *ids)

cdef extern from "dat.h" nogil:
    ctypedef struct dat_key:
        const uint8_t *text
        size_t size
        uint32_t value
    ctypedef enum dat_order:
        DAT_BY_LEVELS
        DAT_BY_DEPTH

cdef extern from "csrc/greedy.h" nogil:
    ctypedef struct cray_trie:
        const int32_t *base
        const int32_t *check
        const int32_t *values
        uint32_t count
    ctypedef enum cray_unmatched:
        CRAY_REFUSE
        CRAY_BYTES
        CRAY_UNKNOWN
    ctypedef struct cray_engine:
        cray_trie trie
        cray_unmatched unmatched
        uint32_t extra
    ctypedef struct cray_document:
        const uint8_t *data
        size_t size
    uint32_t cray_step(const cray_trie *trie, uint32_t s, uint8_t c)
    dat_status cray_encode_whole(
        const cray_engine *engine, const cray_document *document, dat_ids *ids, dat_ids *lengths, size_t *at)
    dat_status cray_encode_batch(
        const cray_engine *engine, const cray_document *documents, size_t count, size_t threads, dat_ids *values,
        uint64_t *offsets, size_t *bad, size_t *place)

cdef extern from "csrc/index.h" nogil:
    ctypedef struct cray_place:
        uint32_t id
        uint32_t slot
    ctypedef struct cray_index:
        int32_t *depths
        cray_place *places
        size_t count
        size_t reached
    dat_status cray_index_build(cray_index *index, const cray_trie *trie, uint32_t *culprit)
    void cray_index_clear(cray_index *index)
    dat_status cray_decoded_size(
        const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count, size_t *size,
        size_t *bad)
    size_t cray_decode(
        const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count, uint8_t *out,
        size_t size)

cdef extern from "csrc/pack.h" nogil:
    ctypedef struct cray_arrays:
        int32_t *base
        size_t count
    dat_status cray_pack(cray_arrays *arrays, dat_key *keys, size_t count, dat_order order)


# Below this many bytes the interpreter's lock is kept: giving it up and taking it back costs more than the work.
cdef size_t KEEP_LOCK = 2048
REFUSE, BYTES, UNKNOWN = CRAY_REFUSE, CRAY_BYTES, CRAY_UNKNOWN


class Unmatched(ValueError):
    """No token starts at a byte of a document: `document` is its number in a batch, `offset` and `byte` the place."""

    def __init__(self, document, offset, byte):
        super().__init__(f"no token starts with byte {byte:02x}, at offset {offset} of document {document}")
        self.document = document
        self.offset = offset
        self.byte = byte


cdef class Block:
    """Numbers that C allocated, lent through the buffer protocol and freed with the last view."""
    cdef dat_ids ids    # what is owned, if these are ids: a long vector is freed by its own way
    cdef void *other    # or this
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]
    cdef bytes format

    def __dealloc__(self):
        dat_ids_clear(&self.ids)
        dat_free(self.other)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self.other if self.other != NULL else <void *>self.ids.items
        buffer.obj = self
        buffer.len = self.strides[0] * self.shape[0]
        buffer.itemsize = self.strides[0]
        buffer.readonly = 0
        buffer.ndim = 1
        buffer.format = PyBytes_AS_STRING(self.format) if flags & PyBUF_FORMAT else NULL
        buffer.shape = self.shape if flags & PyBUF_ND else NULL
        buffer.strides = self.strides if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = NULL


cdef object lend(void *items, Py_ssize_t count, bytes format, Py_ssize_t itemsize):
    """Takes `items` over."""
    cdef Block block = Block.__new__(Block)
    block.other = items
    return as_array(block, count, format, itemsize)


cdef object as_array(Block block, Py_ssize_t count, bytes format, Py_ssize_t itemsize):
    block.format = format
    block.shape[0] = count
    block.strides[0] = itemsize
    return numpy.asarray(block)


cdef object lend_ids(dat_ids *ids):
    """The vector as a numpy.uint32 array of its own size; the vector is empty afterwards."""
    cdef Block block
    cdef size_t count = ids.count
    if count == 0:
        dat_ids_clear(ids)
        return numpy.empty(0, numpy.uint32)
    dat_ids_fit(ids)
    block = Block.__new__(Block)
    block.ids = ids[0]
    ids.items = NULL
    ids.count = ids.room = 0
    return as_array(block, count, b"I", sizeof(uint32_t))


cdef class Input:
    """The bytes of a document, held as long as this object lives."""
    cdef Py_buffer buffer
    cdef bint borrowed
    cdef object owner
    cdef cray_document text

    def __cinit__(self, document):
        cdef Py_ssize_t size
        self.borrowed = False
        self.owner = document
        if isinstance(document, bytes):
            self.text.data = <const uint8_t *>PyBytes_AS_STRING(document)
            self.text.size = PyBytes_GET_SIZE(document)
        elif isinstance(document, str):
            # Strict: a lone surrogate is a UnicodeEncodeError that names its place.
            self.text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(document, &size)
            self.text.size = size
        else:
            PyObject_GetBuffer(document, &self.buffer, PyBUF_SIMPLE)
            self.borrowed = True
            # Numbers are no document: their bytes would be encoded, as this machine happens to lay them out.
            if self.buffer.itemsize != 1:
                raise TypeError(f"a document is bytes, not items of {self.buffer.itemsize} bytes")
            self.text.data = <const uint8_t *>self.buffer.buf
            self.text.size = self.buffer.len

    def __dealloc__(self):
        if self.borrowed:
            PyBuffer_Release(&self.buffer)


cdef class Trie:
    """The three arrays of a CRAY file, walked where they lie; they may hold anything.

    `unmatched` is REFUSE, BYTES or UNKNOWN (csrc/greedy.h), `extra` the id that belongs to it.
    """
    cdef const int32_t[::1] base
    cdef const int32_t[::1] check
    cdef const int32_t[::1] values
    cdef cray_engine engine
    cdef cray_index index
    cdef bint indexed
    cdef PyObject **numbers

    def __cinit__(
        self, const int32_t[::1] base, const int32_t[::1] check, const int32_t[::1] values, *,
        int unmatched=CRAY_REFUSE, uint32_t extra=0,
    ):
        cdef Py_ssize_t count = base.shape[0]
        if not 1 <= count <= 0x7FFFFFFF or check.shape[0] != count or values.shape[0] != count:
            raise ValueError("three arrays of one length, 1 to 2**31 - 1, are needed")
        self.base, self.check, self.values = base, check, values
        self.engine.trie.base = &base[0]
        self.engine.trie.check = &check[0]
        self.engine.trie.values = &values[0]
        self.engine.trie.count = <uint32_t>count
        self.engine.unmatched = <cray_unmatched>unmatched
        self.engine.extra = extra
        self.indexed = False

    def __dealloc__(self):
        cdef size_t i
        cray_index_clear(&self.index)
        if self.numbers != NULL:
            for i in range(self.engine.trie.count):
                Py_XDECREF(self.numbers[i])
            dat_free(self.numbers)

    def find(self, const uint8_t[::1] text):
        """The id of exactly these bytes, or None."""
        cdef uint32_t s = 0
        cdef Py_ssize_t i
        for i in range(text.shape[0]):
            s = cray_step(&self.engine.trie, s, text[i])
            if s == 0:
                return None
        return self.engine.trie.values[s] if s and self.engine.trie.values[s] >= 0 else None

    def missing_byte(self):
        """The least byte that is no token, or None."""
        cdef unsigned byte
        cdef uint32_t s
        for byte in range(256):
            s = cray_step(&self.engine.trie, 0, <uint8_t>byte)
            if s == 0 or self.engine.trie.values[s] < 0:
                return byte
        return None

    cdef list listed_(self, const uint32_t *ids, size_t count):
        """The ids as a list: one int for all places of an id, made when it first comes."""
        cdef list out
        cdef object number
        cdef size_t i
        # Ids are seldom greater than the number of slots; those that are get an int each time.
        cdef size_t room = self.engine.trie.count
        if self.numbers == NULL:
            self.numbers = <PyObject **>dat_zeroed(room, sizeof(PyObject *))
            if self.numbers == NULL:
                raise MemoryError
        out = PyList_New(count)
        for i in range(count):
            if ids[i] < room and self.numbers[ids[i]] != NULL:
                number = <object>self.numbers[ids[i]]
            else:
                number = PyLong_FromUnsignedLong(ids[i])
                if ids[i] < room:
                    Py_INCREF(number)
                    self.numbers[ids[i]] = <PyObject *>number
            Py_INCREF(number)
            PyList_SET_ITEM(out, i, number)
        return out

    def listed(self, const uint32_t[::1] ids):
        """Ids as a list of int."""
        return self.listed_(&ids[0], ids.shape[0]) if ids.shape[0] else []

    cdef int fill(self, document, dat_ids *ids, dat_ids *lengths) except -1:
        cdef Input source = Input(document)
        cdef dat_status status
        cdef size_t at = 0
        ids.items = NULL
        ids.count = ids.room = 0
        if source.text.size < KEEP_LOCK:
            status = cray_encode_whole(&self.engine, &source.text, ids, lengths, &at)
        else:
            with nogil:
                status = cray_encode_whole(&self.engine, &source.text, ids, lengths, &at)
        if status != DAT_OK:
            dat_ids_clear(ids)
            raise Unmatched(0, at, source.text.data[at]) if status == DAT_MISSING_BYTE else MemoryError()
        return 0

    def encode(self, document):
        """The ids of one document: numpy.uint32[n]."""
        cdef dat_ids ids
        self.fill(document, &ids, NULL)
        return lend_ids(&ids)

    def encode_list(self, document):
        """The ids of one document as a list of int."""
        cdef dat_ids ids
        self.fill(document, &ids, NULL)
        try:
            return self.listed_(ids.items, ids.count)
        finally:
            dat_ids_clear(&ids)

    def encode_lengths(self, document):
        """The ids, and the number of bytes that each covers: both numpy.uint32[n]."""
        cdef dat_ids ids
        cdef dat_ids lengths
        lengths.items = NULL
        lengths.count = lengths.room = 0
        try:
            self.fill(document, &ids, &lengths)
            lent = lend_ids(&ids)
            return lent, lend_ids(&lengths)
        finally:
            dat_ids_clear(&lengths)

    def encode_batch(self, documents, size_t threads):
        """The ids of many documents: values numpy.uint32[sum], offsets numpy.uint64[n + 1]."""
        cdef list sources = [Input(document) for document in documents]
        cdef size_t count = len(sources), i, bad = 0, place = 0
        cdef cray_document *list_ = <cray_document *>dat_alloc(count, sizeof(cray_document))
        cdef uint64_t *offsets = <uint64_t *>dat_alloc(count + 1, sizeof(uint64_t))
        cdef dat_ids ids
        cdef dat_status status = DAT_NO_MEMORY
        ids.items = NULL
        ids.count = ids.room = 0
        if list_ != NULL and offsets != NULL:
            for i in range(count):
                list_[i] = (<Input>sources[i]).text
            with nogil:
                status = cray_encode_batch(&self.engine, list_, count, threads, &ids, offsets, &bad, &place)
        dat_free(list_)
        if status != DAT_OK:
            dat_ids_clear(&ids)
            dat_free(offsets)
            if status == DAT_MISSING_BYTE:
                raise Unmatched(bad, place, (<Input>sources[bad]).text.data[place])
            raise MemoryError
        lent = lend(offsets, count + 1, b"Q", sizeof(uint64_t))
        return lend_ids(&ids), lent

    cdef int need_index(self) except -1:
        cdef uint32_t culprit = 0
        cdef dat_status status
        if not self.indexed:
            # The lock of the interpreter is kept: two threads must not both make it.
            status = cray_index_build(&self.index, &self.engine.trie, &culprit)
            if status == DAT_DUPLICATE_ID:
                raise ValueError(f"id {culprit} stands for two tokens")
            if status != DAT_OK:
                raise MemoryError
            self.indexed = True
        return 0

    def decode(self, const uint32_t[::1] ids):
        """Their bytes. ValueError names the first id that there is not, and its index."""
        cdef size_t count = ids.shape[0], size = 0, bad = 0, written
        cdef dat_status status
        cdef uint8_t *target
        if count == 0:
            return b""
        self.need_index()
        with nogil:
            status = cray_decoded_size(&self.engine, &self.index, &ids[0], count, &size, &bad)
        if status == DAT_BAD_ID:
            raise ValueError(f"id {ids[bad]} at index {bad}: not in the vocabulary")
        if status != DAT_OK:
            raise MemoryError
        out = PyBytes_FromStringAndSize(NULL, size)
        target = <uint8_t *>PyBytes_AS_STRING(out)
        with nogil:
            written = cray_decode(&self.engine, &self.index, &ids[0], count, target, size)
        return out if written == size else out[:written]

    def ids(self):
        """The ids that a walk can find, ascending: numpy.uint32[n]."""
        self.need_index()
        cdef size_t i
        out = numpy.empty(self.index.count, numpy.uint32)
        cdef uint32_t[::1] view = out
        for i in range(self.index.count):
            view[i] = self.index.places[i].id
        return out

    def reached(self):
        """How many slots a walk can come to, the root left out."""
        self.need_index()
        return self.index.reached


def pack(const uint8_t[::1] text, const uint64_t[::1] offsets, const uint32_t[::1] ids, bint by_depth):
    """BASE, CHECK and VALUES, first fit, as the three rows of numpy.int32[3, n].

    Token i is text[offsets[i]:offsets[i + 1]] with the id ids[i], below 2**31. ValueError for an empty token and for
    a text with two ids.
    """
    cdef size_t count = ids.shape[0], i
    cdef dat_key *keys = <dat_key *>dat_alloc(count, sizeof(dat_key))
    cdef cray_arrays arrays
    cdef dat_status status
    cdef dat_order order = DAT_BY_DEPTH if by_depth else DAT_BY_LEVELS
    if keys == NULL:
        raise MemoryError
    for i in range(count):
        keys[i].text = &text[0] + offsets[i] if text.shape[0] else NULL
        keys[i].size = offsets[i + 1] - offsets[i]
        keys[i].value = ids[i]
    with nogil:
        status = cray_pack(&arrays, keys, count, order)
    dat_free(keys)
    if status == DAT_EMPTY_TOKEN or status == DAT_DUPLICATE_TEXT:
        raise ValueError("a token of no bytes" if status == DAT_EMPTY_TOKEN else "one text has two ids")
    if status != DAT_OK:
        raise MemoryError
    return lend(arrays.base, 3 * arrays.count, b"i", sizeof(int32_t)).reshape(3, -1)
