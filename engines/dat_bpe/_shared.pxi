# What the plain build (_core) and the trace build (_trace) share: the tables, and every way of asking them.
cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import hashlib

import numpy


cdef extern from "csrc/common.h" nogil:
    ctypedef enum dat_status:
        DAT_OK
        DAT_NO_MEMORY
        DAT_TOO_LONG
        DAT_BAD_ID
        DAT_MISSING_BYTE
        DAT_DUPLICATE_TEXT
        DAT_DUPLICATE_ID
        DAT_EMPTY_TOKEN
        DAT_BAD_MERGE
        DAT_TOO_MANY
        DAT_BAD_PROGRAM
        DAT_DAMAGED
    ctypedef struct dat_ids:
        uint32_t *items
        size_t count
        size_t room
    uint32_t DAT_NONE
    void *dat_alloc(size_t count, size_t size)
    void *dat_grow(void *old, size_t count, size_t size)
    void *dat_zeroed(size_t count, size_t size)
    void dat_free(void *block)
    dat_status dat_ids_room(dat_ids *ids, size_t more)
    dat_status dat_ids_expect(dat_ids *ids, size_t count)
    void dat_ids_fit(dat_ids *ids)
    void dat_ids_free(uint32_t *items, size_t room)
    void dat_ids_clear(dat_ids *ids)

cdef extern from "csrc/unicode_tables.h" nogil:
    int DAT_UNICODE_VERSIONS
    int DAT_CODE_POINTS
    int DAT_CATEGORIES
    ctypedef struct dat_unicode:
        const char *name
    const dat_unicode dat_unicode_versions[4]
    const char dat_category_names[30][3]
    uint8_t dat_category_of(const dat_unicode *unicode, uint32_t point)

cdef extern from "csrc/scan.h" nogil:
    uint32_t DAT_ILL_FORMED
    size_t dat_scan_all(const uint8_t *text, size_t size, uint32_t *values)

cdef extern from "csrc/classify.h" nogil:
    ctypedef struct dat_classes:
        uint8_t of_byte[256]
    void dat_classes_init(dat_classes *classes, const dat_unicode *unicode)
    uint32_t dat_byte_character(uint8_t byte)
    unsigned dat_class(const dat_classes *classes, uint32_t value)

cdef extern from "csrc/nfc_tables.h" nogil:
    ctypedef struct dat_nfc:
        pass
    const dat_nfc dat_nfc_versions[4]

cdef extern from "csrc/normalize.h" nogil:
    ctypedef struct dat_edit:
        size_t origin "from"
        size_t to
        size_t at
        size_t upto
    ctypedef struct dat_normal:
        dat_edit *edits
        size_t edit_count
    void dat_normal_clear(dat_normal *work)
    dat_status dat_normalize(
        const dat_nfc *nfc, dat_normal *work, const uint8_t *text, size_t size, const uint8_t **result,
        size_t *result_size)

cdef extern from "csrc/trace.h" nogil:
    ctypedef struct dat_event:
        uint8_t stage
        uint8_t path
        uint8_t proposed
        uint8_t accepted
        uint8_t category
        uint8_t rule
        uint32_t value
        uint32_t left
        uint32_t right
        size_t offset
        size_t next
        size_t position
    ctypedef struct dat_trace:
        dat_event *items
        size_t count

cdef extern from "csrc/pretokenize.h" nogil:
    ctypedef enum dat_family:
        pass
    ctypedef enum dat_contractions:
        pass
    ctypedef struct dat_pattern:
        dat_family family
        dat_contractions contractions
        unsigned digits
        int marks_are_letters
        int trailing_blanks
    ctypedef struct dat_text:
        const uint8_t *end
        const dat_classes *classes
        const dat_pattern *pattern
        dat_trace *trace
    const uint8_t *dat_next_piece(const dat_text *text, const uint8_t *p)

cdef extern from "csrc/dat.h" nogil:
    ctypedef struct dat_node:
        int32_t base
        int32_t check
    ctypedef struct dat_trie:
        dat_node *nodes
        uint32_t *values
        size_t count
    uint32_t dat_find(const dat_trie *trie, const uint8_t *text, size_t size)

cdef extern from "csrc/merge.h" nogil:
    uint8_t DAT_REACHABLE
    ctypedef struct dat_merges:
        const uint8_t *flags
        const uint32_t *splits
        int regular

cdef extern from "csrc/profile.h" nogil:
    int DAT_ABOUT
    int DAT_TEXT
    int DAT_SECTIONS
    uint32_t DAT_NFC
    uint32_t DAT_PREFIX_SPACE
    uint32_t DAT_GENERAL
    ctypedef struct dat_place:
        uint64_t at
        uint64_t size
    ctypedef struct dat_profile:
        uint64_t size
        uint32_t version
        uint32_t count
        uint32_t longest
        uint32_t unreachable
        uint32_t flags
        uint32_t slots
        uint32_t pairs
        char unicode[8]
        uint64_t classes
        dat_place sections[1]
        uint8_t contents[32]
        uint64_t head
    size_t dat_profile_start()
    void dat_profile_seal(dat_profile *profile)
    dat_status dat_profile_check(const void *block, size_t size)

cdef extern from "csrc/piece.h" nogil:
    unsigned DAT_USE_CACHE
    unsigned DAT_USE_WIDE
    unsigned DAT_USE_WORDS
    unsigned DAT_USE_CUTS
    unsigned DAT_USE_LINEAR
    ctypedef enum dat_level:
        DAT_SCALAR
        DAT_AVX2
        DAT_AVX512
    dat_level dat_best_level()
    ctypedef struct dat_settings:
        unsigned cache_bits
        unsigned wide_bits
        unsigned uses
        dat_level level
        uint64_t seed
    ctypedef struct dat_scratch:
        pass

cdef extern from "csrc/special.h" nogil:
    ctypedef struct dat_specials:
        size_t count
        uint32_t *ids
        uint8_t *text
        size_t *offsets
        uint8_t *flags

cdef extern from "csrc/split.h" nogil:
    ctypedef struct dat_splitter:
        size_t count
    ctypedef struct dat_split_room:
        size_t count
    dat_status dat_splitter_build(
        dat_splitter *splitter, const uint32_t *words, const uint64_t *offsets, size_t count,
        const dat_classes *classes, size_t *culprit)
    void dat_splitter_clear(dat_splitter *splitter)
    void dat_split_room_clear(dat_split_room *room)
    dat_status dat_split_start(
        const dat_splitter *splitter, dat_split_room *room, const uint8_t *begin, const uint8_t *end)
    dat_status dat_split(
        const dat_splitter *splitter, dat_split_room *room, uint64_t *ends, size_t most, size_t *count)

cdef extern from "csrc/vocab.h" nogil:
    ctypedef struct dat_before:
        const dat_nfc *nfc
        int prefix_space
    ctypedef struct dat_vocab:
        const dat_profile *profile
        const uint32_t *offsets
        const uint32_t *ids
        const uint32_t *by_id
        size_t count
        dat_trie trie
        dat_merges merges
        size_t unreachable
        int ignore_merges
        dat_specials specials
        dat_before before
        dat_classes classes
        dat_pattern pattern
        const dat_splitter *splitter
    ctypedef struct dat_token_list:
        const uint8_t *text
        const uint64_t *offsets
        const uint32_t *ids
        const uint8_t *flags
        size_t count
    ctypedef struct dat_merge_list:
        const uint32_t *triples
        size_t count
    dat_status dat_vocab_build(
        dat_vocab *vocab, dat_token_list tokens, const dat_merge_list *merges, dat_token_list specials,
        const dat_unicode *unicode, dat_pattern pattern, dat_before before, int ignore_merges, size_t *culprit)
    dat_status dat_vocab_view(
        dat_vocab *vocab, const void *block, size_t size)
    void dat_vocab_clear(dat_vocab *vocab)
    const uint8_t *dat_token(const dat_vocab *vocab, uint32_t index, size_t *size)
    uint32_t dat_id(const dat_vocab *vocab, uint32_t index)

cdef extern from "csrc/segment.h" nogil:
    dat_status dat_piece_ends(
        const dat_vocab *vocab, dat_scratch *scratch, dat_level level, const uint8_t *p, const uint8_t *end,
        dat_ids *ends)

cdef extern from "csrc/encode.h" nogil:
    size_t DAT_PART_BYTES
    ctypedef struct dat_document:
        const uint8_t *data
        size_t size
    ctypedef struct dat_marks:
        void *items
        size_t count
        size_t room
    void dat_marks_clear(dat_marks *marks)
    void dat_spans(
        const dat_vocab *vocab, const uint32_t *ids, size_t count, const dat_marks *marks, uint64_t *spans)
    dat_status dat_scratch_init(dat_scratch *scratch, dat_settings settings)
    dat_status dat_scratch_see(const dat_vocab *vocab, dat_scratch *scratch, size_t size)
    void dat_scratch_clear(dat_scratch *scratch)
    dat_status dat_encode(
        const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *document, size_t size, int specials,
        dat_ids *out, dat_marks *marks, dat_trace *trace)
    dat_status dat_encode_batch(
        const dat_vocab *vocab, dat_scratch **scratches, size_t threads, const dat_document *documents,
        size_t count, int specials, dat_ids *values, uint64_t *offsets)

cdef extern from "csrc/decode.h" nogil:
    const uint8_t *dat_id_bytes(const dat_vocab *vocab, uint32_t id, size_t *size)
    dat_status dat_decoded_size(const dat_vocab *vocab, const uint32_t *ids, size_t count, size_t *size, size_t *bad)
    size_t dat_decode(const dat_vocab *vocab, const uint32_t *ids, size_t count, uint8_t *out, size_t size)


# Beyond this id an int is made each time.
cdef size_t NUMBERS_MOST = 1 << 22

# Below this many bytes the interpreter's lock is kept: giving it up and taking it back costs more than the work.
cdef size_t KEEP_LOCK = 2048

STATUS_NAMES = {
    DAT_MISSING_BYTE: "missing byte",
    DAT_DUPLICATE_TEXT: "duplicate text",
    DAT_DUPLICATE_ID: "duplicate id",
    DAT_EMPTY_TOKEN: "empty token",
    DAT_BAD_MERGE: "bad merge",
    DAT_TOO_MANY: "too many tokens",
    DAT_BAD_PROGRAM: "no program",
}
UNICODE_VERSIONS = tuple(dat_unicode_versions[i].name.decode("ascii") for i in range(DAT_UNICODE_VERSIONS))
CATEGORIES = tuple(dat_category_names[i].decode("ascii") for i in range(DAT_CATEGORIES))


class TableError(ValueError):
    """The tables cannot be built: `reason` is one of STATUS_NAMES, `culprit` the byte or the number of the token."""

    def __init__(self, reason, culprit):
        super().__init__(f"{reason} ({culprit})")
        self.reason = reason
        self.culprit = culprit


class DamagedError(ValueError):
    """A profile whose contents are not what was written."""


# Each a level of instructions, and each an optimization that can be left out; none changes an id.
LEVELS = ("scalar", "avx2", "avx512")
USES = {
    "cache": DAT_USE_CACHE, "wide": DAT_USE_WIDE, "words": DAT_USE_WORDS, "cuts": DAT_USE_CUTS,
    "linear": DAT_USE_LINEAR,
}


def best_level():
    """The number of the best level that this processor has."""
    return <int>dat_best_level()


cdef int check(dat_status status) except -1:
    if status == DAT_OK:
        return 0
    if status == DAT_NO_MEMORY:
        raise MemoryError("dat-bpe: out of memory")
    if status == DAT_TOO_LONG:
        raise OverflowError("dat-bpe: a pretoken of 4 GiB or more")
    if status == DAT_DAMAGED:
        raise DamagedError("the tables contradict each other")
    raise ValueError(STATUS_NAMES.get(status, "error"))


cdef class Scratch:
    """What one thread writes to."""
    cdef dat_scratch scratch
    cdef dat_ids ids  # of a short document, before they go into what is returned

    def __cinit__(self, Tables owner):
        check(dat_scratch_init(&self.scratch, owner.settings))

    def __dealloc__(self):
        dat_scratch_clear(&self.scratch)
        dat_ids_clear(&self.ids)


@cython.no_gc_clear
cdef class Block:
    """Ids or offsets that C allocated, lent through the buffer protocol and given back with the last view."""
    cdef Tables owner
    cdef dat_ids ids         # what is owned, if these are ids
    cdef uint64_t *offsets   # or this
    cdef Py_ssize_t count
    cdef Py_ssize_t stride

    def __dealloc__(self):
        # One vector is kept: memory that was written before is written again in a third of the time.
        if self.owner is not None and self.owner.spare.room < self.ids.room <= SPARE_MOST:
            self.ids, self.owner.spare = self.owner.spare, self.ids
        dat_ids_clear(&self.ids)
        dat_free(self.offsets)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        wide = self.offsets != NULL
        self.stride = 8 if wide else 4
        buffer.buf = <void *>self.offsets if wide else <void *>self.ids.items
        buffer.obj = self
        buffer.len = self.stride * self.count
        buffer.itemsize = self.stride
        buffer.readonly = 0
        buffer.ndim = 1
        buffer.format = NULL
        if flags & PyBUF_FORMAT:
            buffer.format = b"Q" if wide else b"I"
        buffer.shape = &self.count if flags & PyBUF_ND else NULL
        buffer.strides = &self.stride if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = NULL


cdef object lend_offsets(uint64_t *offsets, Py_ssize_t count):
    """Takes `offsets` over: numpy.uint64[count]."""
    cdef Block block = Block.__new__(Block)
    block.offsets = offsets
    block.count = count
    return numpy.asarray(block)


cdef object lend_ids(dat_ids *ids, Tables owner=None):
    """The vector as a numpy.uint32 array of its own size; the vector is empty afterwards."""
    cdef Block block = Block.__new__(Block)
    if ids.count == 0:
        return numpy.empty(0, numpy.uint32)
    dat_ids_fit(ids)
    block.ids = ids[0]
    block.owner = owner
    block.count = ids.count
    ids.items = NULL
    ids.count = ids.room = 0
    return numpy.asarray(block)


cdef object copy_ids(const dat_ids *ids):
    """The ids as a numpy.uint32 array of their own: quicker than lending for some thousands."""
    cdef object array = EMPTY(ids.count, UINT32)
    cdef Py_buffer buffer
    if ids.count:
        PyObject_GetBuffer(array, &buffer, PyBUF_SIMPLE)
        memcpy(buffer.buf, ids.items, ids.count * sizeof(uint32_t))
        PyBuffer_Release(&buffer)
    return array


# A vector of more ids (64 MB) is not kept.
cdef size_t SPARE_MOST = 1 << 24
# Room for so many (8 MB) is there before the first call.
cdef size_t SPARE_FIRST = 1 << 21
# Up to so many ids are made in memory that is kept from call to call, and copied.
cdef size_t SHORT = 1 << 14
cdef object EMPTY = numpy.empty
cdef object UINT32 = numpy.dtype(numpy.uint32)

cdef struct source:
    const uint8_t *data
    size_t size
    bint borrowed
    Py_buffer buffer


cdef int open_source(object document, source *opened) except -1:
    """The bytes of a document, for as long as the caller holds it; to be closed."""
    cdef Py_ssize_t size
    opened.borrowed = False
    if isinstance(document, bytes):
        opened.data = <const uint8_t *>PyBytes_AS_STRING(document)
        opened.size = PyBytes_GET_SIZE(document)
    elif isinstance(document, str):
        # Strict: a lone surrogate is a UnicodeEncodeError that names its place.
        opened.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(document, &size)
        opened.size = size
    else:
        PyObject_GetBuffer(document, &opened.buffer, PyBUF_SIMPLE)
        # Numbers are no document: their bytes would be encoded, as this machine happens to lay them out.
        if opened.buffer.itemsize != 1:
            size = opened.buffer.itemsize
            PyBuffer_Release(&opened.buffer)
            raise TypeError(f"a document is bytes, not items of {size} bytes")
        opened.borrowed = True
        opened.data = <const uint8_t *>opened.buffer.buf
        opened.size = opened.buffer.len
    return 0


cdef void close_source(source *opened) noexcept:
    if opened.borrowed:
        PyBuffer_Release(&opened.buffer)


cdef class Input:
    """The bytes of a document, held as long as this object lives."""
    cdef source opened
    cdef object owner
    cdef const uint8_t *data
    cdef size_t size

    def __cinit__(self, document):
        open_source(document, &self.opened)
        self.owner = document
        self.data = self.opened.data
        self.size = self.opened.size

    def __dealloc__(self):
        close_source(&self.opened)


cdef object placed(error, size_t i):
    """The error of one document, saying which of them it is."""
    if isinstance(error, UnicodeEncodeError):
        error.reason = f"{error.reason} (documents[{i}])"
    else:
        error.args = (f"documents[{i}]: {error}",)
    return error


cdef class Splitter:
    """Programs of csrc/split.h, applied in order; numpy.uint32 arrays, of which copies are kept."""
    cdef dat_splitter splitter
    cdef list alternatives
    cdef object words
    cdef object offsets

    def __cinit__(self, programs):
        arrays = [numpy.asarray(words, numpy.uint32).reshape(-1) for words, _ in programs]
        self.alternatives = [tuple(names) for _, names in programs]
        self.words = numpy.concatenate([*arrays, numpy.zeros(1, numpy.uint32)])
        self.offsets = numpy.cumsum([0, *map(len, arrays)], dtype=numpy.uint64)

    cdef int build(self, const dat_classes *classes) except -1:
        cdef const uint32_t[::1] words = self.words
        cdef const uint64_t[::1] offsets = self.offsets
        cdef size_t culprit = 0
        dat_splitter_clear(&self.splitter)
        cdef dat_status status = dat_splitter_build(
            &self.splitter, &words[0], &offsets[0], offsets.shape[0] - 1, classes, &culprit)
        if status == DAT_BAD_PROGRAM:
            raise TableError(STATUS_NAMES[status], culprit)
        return check(status)

    def __dealloc__(self):
        dat_splitter_clear(&self.splitter)


cdef object split_ends(const dat_splitter *splitter, Input source):
    """The ends of all pieces of a text, as a list of byte offsets."""
    cdef dat_split_room room
    cdef uint64_t ends[256]
    cdef size_t count = 256, i
    found = []
    memset(&room, 0, sizeof(dat_split_room))
    try:
        check(dat_split_start(splitter, &room, source.data, source.data + source.size))
        while count == 256:
            check(dat_split(splitter, &room, ends, 256, &count))
            found.extend([ends[i] for i in range(count)])
        return found
    finally:
        dat_split_room_clear(&room)


cdef class Tables:
    """A vocabulary and its pretokenizer, read-only after construction; a pool of scratch memory beside it."""
    cdef dat_vocab vocab
    cdef Splitter splitter
    cdef Input mapped
    cdef dat_settings settings
    cdef list pool
    cdef dat_ids spare       # of a result that nobody holds any more
    cdef PyObject **numbers  # one int an id, made when it is first asked for: a list only takes references
    cdef size_t number_count
    cdef public object recipe  # (function, arguments) of the encoder, without what refers to this object

    def __cinit__(
        self, const uint8_t[::1] text=None, const uint64_t[::1] offsets=None, const uint32_t[::1] ids=None,
        const uint8_t[::1] special_text=None, const uint64_t[::1] special_offsets=None,
        const uint32_t[::1] special_ids=None, const uint8_t[::1] special_flags=None, *, bint nfc=False,
        bint prefix_space=False, int unicode=0, int family=0, int contractions=0, unsigned digits=0,
        bint marks_are_letters=False, bint trailing_blanks=False, bint ignore_merges=False, object settings,
        programs=None, merges=None, block=None,
    ):
        cdef dat_token_list tokens
        cdef dat_token_list specials
        cdef dat_pattern pattern
        cdef dat_before before
        cdef size_t culprit = 0
        cdef dat_status status
        cdef uint8_t nothing = 0
        cdef dat_merge_list listed
        cdef const dat_merge_list *list_ = NULL
        cdef const uint32_t[:, ::1] triples
        if block is not None:
            # A mapped profile: held as long as its tables are used.
            self.mapped = Input(block)
            check(dat_vocab_view(&self.vocab, self.mapped.data, self.mapped.size))
            if (self.vocab.profile.flags & DAT_GENERAL != 0) != (programs is not None):
                raise DamagedError("its head and its description are of two ways of splitting")
        else:
            if not 0 <= unicode < DAT_UNICODE_VERSIONS:
                raise ValueError("unicode: no such table")
            if ids is None or special_flags is None or special_flags.shape[0] != special_ids.shape[0]:
                raise ValueError("tokens, and as many special_flags as special_ids, are needed without a block")
            tokens.text = &text[0] if text.shape[0] else &nothing
            tokens.offsets = &offsets[0]
            tokens.ids = &ids[0] if ids.shape[0] else NULL
            tokens.flags = NULL
            tokens.count = ids.shape[0]
            specials.text = &special_text[0] if special_text.shape[0] else &nothing
            specials.offsets = &special_offsets[0]
            specials.ids = &special_ids[0] if special_ids.shape[0] else NULL
            specials.flags = &special_flags[0] if special_flags.shape[0] else NULL
            specials.count = special_ids.shape[0]
            before.nfc = &dat_nfc_versions[unicode] if nfc else NULL
            before.prefix_space = prefix_space
            if tokens.count == 0:
                raise TableError("missing byte", 0)
            pattern.family = <dat_family>family
            pattern.contractions = <dat_contractions>contractions
            pattern.digits = digits
            pattern.marks_are_letters = marks_are_letters
            pattern.trailing_blanks = trailing_blanks
            if merges is not None:
                triples = numpy.ascontiguousarray(merges, numpy.uint32).reshape(-1, 3)
                listed.count = triples.shape[0]
                listed.triples = &triples[0, 0] if triples.shape[0] else NULL
                list_ = &listed
            with nogil:
                status = dat_vocab_build(
                    &self.vocab, tokens, list_, specials, &dat_unicode_versions[unicode], pattern, before,
                    ignore_merges, &culprit)
            if status in STATUS_NAMES:
                raise TableError(STATUS_NAMES[status], culprit)
            check(status)
        if programs is not None:
            # The classes are the vocabulary's own: this object owns both.
            self.splitter = Splitter(programs)
            self.splitter.build(&self.vocab.classes)
            self.vocab.splitter = &self.splitter.splitter
        self.set(settings)
        self.pool = []

    def __dealloc__(self):
        cdef size_t i
        dat_vocab_clear(&self.vocab)
        dat_ids_clear(&self.spare)
        for i in range(self.number_count):
            Py_XDECREF(self.numbers[i])
        dat_free(self.numbers)

    def __reduce__(self):
        # What a bound method is pickled with: the tables of the encoder's own copy.
        if self.recipe is None:
            raise TypeError("tables without an encoder cannot be pickled")
        return tables_of, self.recipe

    cdef int set(self, settings) except -1:
        self.settings.cache_bits = settings["cache_bits"]
        self.settings.wide_bits = settings["wide_bits"]
        # What was pickled on another machine may name a level that this one has not.
        self.settings.level = <dat_level>min(<int>settings["level"], <int>dat_best_level())
        self.settings.seed = settings["seed"]
        self.settings.uses = 0
        for use in settings["uses"]:
            self.settings.uses |= USES[use]
        return 0

    cdef Scratch take(self):
        # append and pop of a list are one step each under the interpreter's lock: no scratch has two users.
        try:
            return <Scratch>self.pool.pop()
        except IndexError:
            return Scratch(self)

    def profile(self, bytes about):
        """The tables as the bytes of a profile file, with `about` (JSON) as its first section."""
        cdef const dat_profile *head = self.vocab.profile
        cdef size_t start = dat_profile_start()
        cdef size_t rest = head.sections[DAT_ABOUT + 1].at
        file = bytearray((<const uint8_t *>head)[:start])
        file += about + bytes(-len(about) % 64)
        cdef size_t moved = len(file) - rest
        file += (<const uint8_t *>head)[rest:head.size]
        cdef uint8_t[::1] view = file
        cdef dat_profile *made = <dat_profile *>&view[0]
        made.sections[DAT_ABOUT].at = start
        made.sections[DAT_ABOUT].size = len(about)
        for i in range(DAT_ABOUT + 1, DAT_SECTIONS):
            made.sections[i].at += moved
        made.size = len(file)
        made.flags = made.flags & ~DAT_GENERAL | (DAT_GENERAL if self.splitter is not None else 0)
        contents = hashlib.sha256(memoryview(file)[start:]).digest()
        for i in range(32):
            made.contents[i] = contents[i]
        dat_profile_seal(made)
        del view
        return file

    def tokens(self):
        """What the tables are of: (text, offsets, ids) in ascending order of id, and the merges that can be taken in
        order of rank as numpy.uint32[n, 3] of indexes into them. DamagedError."""
        cdef size_t i, size, at = 0
        cdef uint32_t index
        cdef const uint8_t *text
        # Only of a damaged file: then texts may overlap, and be longer than any memory.
        for i in range(self.vocab.count):
            if self.vocab.offsets[i] != at or self.vocab.offsets[i + 1] < at:
                raise DamagedError("the texts of its tokens overlap")
            at = self.vocab.offsets[i + 1]
        order = sorted(range(self.vocab.count), key=lambda index: dat_id(&self.vocab, index))
        place = {index: i for i, index in enumerate(order)}
        texts = []
        for index in order:
            text = dat_token(&self.vocab, index, &size)
            texts.append(text[:size])
        offsets = numpy.zeros(len(texts) + 1, numpy.uint64)
        numpy.cumsum([len(each) for each in texts], out=offsets[1:])
        columns = (
            numpy.frombuffer(b"".join(texts), numpy.uint8), offsets,
            numpy.array([dat_id(&self.vocab, index) for index in order], numpy.uint32))
        for i in range(2 * self.vocab.count):
            if self.vocab.merges.splits[i] != DAT_NONE and self.vocab.merges.splits[i] >= self.vocab.count:
                raise DamagedError("a merge is of no tokens")
        merges = [
            (place[self.vocab.merges.splits[2 * i]], place[self.vocab.merges.splits[2 * i + 1]], place[i])
            for i in range(self.vocab.count) if self.vocab.merges.splits[2 * i] != DAT_NONE]
        return columns, numpy.array(merges, numpy.uint32).reshape(-1, 3)

    @property
    def n_vocab(self):
        """One more than the greatest id, special or not."""
        return self.greatest() + 1

    @property
    def ignore_merges(self):
        """Whether a piece that is a token is that token."""
        return bool(self.vocab.ignore_merges)

    @property
    def prefix_space(self):
        """Whether a space goes before text that does not begin with one."""
        return bool(self.vocab.before.prefix_space)

    @property
    def general(self):
        """Whether text is split by programs."""
        return self.splitter is not None

    def is_as(self, *, int unicode, bint nfc, bint prefix_space, int family, int contractions, unsigned digits,
              bint marks_are_letters, bint trailing_blanks, bint ignore_merges):
        """Whether these tables are of this contract: a description and its head may come of two files."""
        cdef dat_pattern *pattern = &self.vocab.pattern
        cdef const dat_profile *head = self.vocab.profile
        machine = (
            <int>pattern.family == family and <int>pattern.contractions == contractions and pattern.digits == digits
            and pattern.marks_are_letters == marks_are_letters and pattern.trailing_blanks == trailing_blanks)
        return (machine and (<const char *>head.unicode)[:8].rstrip(b"\0") == UNICODE_VERSIONS[unicode].encode()
                and (head.flags & DAT_NFC != 0) == nfc and (head.flags & DAT_PREFIX_SPACE != 0) == prefix_space
                and bool(self.vocab.ignore_merges) == ignore_merges)

    def added(self):
        """(text, id, flags) of each added token, by id."""
        cdef const dat_specials *all_ = &self.vocab.specials
        cdef size_t i
        return [
            (all_.text[all_.offsets[i]:all_.offsets[i + 1]], all_.ids[i], all_.flags[i]) for i in range(all_.count)]

    @property
    def contents(self):
        """The checksum of the mapped profile, as its head says; nothing is read."""
        return self.vocab.profile.contents[:32]

    @property
    def idle(self):
        """For how many threads scratch memory is kept."""
        return len(self.pool)

    @property
    def unreachable(self):
        """How many tokens the merging of their own bytes does not give."""
        return self.vocab.unreachable

    @property
    def pair_count(self):
        """How many pairs of tokens join to a token."""
        return self.vocab.profile.pairs

    @property
    def trie_slots(self):
        """Slots of the double array."""
        return self.vocab.trie.count

    def trie_arrays(self):
        """BASE, CHECK (int32) and VALUES (uint32, 2**32 - 1: none) of the vocabulary's double array, copied."""
        cdef size_t count = self.vocab.trie.count
        cdef size_t i
        base = numpy.empty(count, numpy.int32)
        checks = numpy.empty(count, numpy.int32)
        values = numpy.empty(count, numpy.uint32)
        cdef int32_t[::1] base_view = base
        cdef int32_t[::1] check_view = checks
        cdef uint32_t[::1] value_view = values
        for i in range(count):
            base_view[i] = self.vocab.trie.nodes[i].base
            check_view[i] = self.vocab.trie.nodes[i].check
            value_view[i] = self.vocab.trie.values[i]
        return base, checks, values

    def unreachable_ids(self):
        """Their ids, ascending."""
        cdef size_t i
        return [self.vocab.ids[i] for i in range(self.vocab.count) if not self.vocab.merges.flags[i] & DAT_REACHABLE]

    def find(self, bytes text):
        """The id of exactly these bytes as an ordinary token, or None."""
        cdef uint32_t index = dat_find(&self.vocab.trie, <const uint8_t *>PyBytes_AS_STRING(text), len(text))
        return None if index == DAT_NONE else dat_id(&self.vocab, index)

    def token_bytes(self, uint32_t id):
        """The bytes of an id, ordinary or special; None if there is no such id."""
        cdef size_t size = 0
        cdef const uint8_t *text = dat_id_bytes(&self.vocab, id, &size)
        return None if text == NULL else text[:size]

    cdef int run(self, Scratch scratch, const source *opened, bint specials, dat_ids *ids, dat_marks *marks) except -1:
        """Appends the ids to `ids`, which is cleared on failure."""
        cdef dat_status status
        # English has more than four bytes a token, Chinese less than three: start between, grow by half.
        status = DAT_OK if ids.room else dat_ids_expect(ids, opened.size // 3 + 8)
        if status == DAT_OK:
            if opened.size < KEEP_LOCK:
                status = dat_encode(
                    &self.vocab, &scratch.scratch, opened.data, opened.size, specials, ids, marks, NULL)
            else:
                with nogil:
                    status = dat_encode(
                        &self.vocab, &scratch.scratch, opened.data, opened.size, specials, ids, marks, NULL)
        if status != DAT_OK:
            dat_ids_clear(ids)
            check(status)
        return 0

    cdef dat_ids take_spare(self):
        cdef dat_ids ids = self.spare
        ids.count = 0
        memset(&self.spare, 0, sizeof(dat_ids))
        return ids

    def prepare(self):
        """Makes the first thread's caches and room for ids now, so that the first document need not."""
        cdef Scratch scratch = self.take()
        cdef dat_status status
        with nogil:
            status = dat_scratch_see(&self.vocab, &scratch.scratch, 1 << 30)
            if status == DAT_OK:
                status = dat_ids_room(&self.spare, SPARE_FIRST)
        check(status)
        self.pool.append(scratch)

    cdef int may(self, bint specials) except -1:
        if specials and self.vocab.specials.count == 0:
            raise ValueError("no special tokens were given when it was loaded; give specials= to load")
        return 0

    def encode(self, data, *, bint specials=False):
        """The ids of one document: numpy.uint32[n]."""
        cdef source opened
        cdef Scratch scratch
        cdef dat_ids ids
        self.may(specials)
        # The document first: one that is refused must not cost the caches of a thread.
        open_source(data, &opened)
        scratch = self.take()
        try:
            if opened.size <= SHORT:
                scratch.ids.count = 0
                self.run(scratch, &opened, specials, &scratch.ids, NULL)
                found = copy_ids(&scratch.ids)
            else:
                ids = self.take_spare()
                self.run(scratch, &opened, specials, &ids, NULL)
                found = lend_ids(&ids, self)
        finally:
            close_source(&opened)
        self.pool.append(scratch)
        return found

    def encode_list(self, data, *, bint specials=False):
        """The ids of one document as a list of int."""
        cdef source opened
        cdef Scratch scratch
        self.may(specials)
        # The document first: one that is refused must not cost the caches of a thread.
        open_source(data, &opened)
        scratch = self.take()
        try:
            scratch.ids.count = 0
            self.run(scratch, &opened, specials, &scratch.ids, NULL)
        finally:
            close_source(&opened)
        found = self.as_list(scratch.ids.items, scratch.ids.count)
        if scratch.ids.room > 16 * SHORT:
            dat_ids_clear(&scratch.ids)
        self.pool.append(scratch)
        return found

    def encode_into(self, data, out, *, bint specials=False):
        """Writes the ids into the caller's memory, and returns how many; ValueError, and nothing written, if they do
        not fit."""
        cdef source opened
        cdef Scratch scratch
        cdef size_t count
        cdef uint32_t[::1] room
        try:
            if out is None:  # which Cython takes for no memory
                raise TypeError("it is None")
            room = out
        except (TypeError, ValueError, BufferError) as error:
            raise TypeError(f"out: a writable, contiguous numpy.uint32[n] is needed: {error}") from None
        self.may(specials)
        # The document first: one that is refused must not cost the caches of a thread.
        open_source(data, &opened)
        scratch = self.take()
        try:
            scratch.ids.count = 0
            self.run(scratch, &opened, specials, &scratch.ids, NULL)
        finally:
            close_source(&opened)
        count = scratch.ids.count
        if count > <size_t>room.shape[0]:
            self.pool.append(scratch)
            raise ValueError(f"out: room for {room.shape[0]} ids, and there are {count}")
        if count:
            memcpy(&room[0], scratch.ids.items, count * sizeof(uint32_t))
        if scratch.ids.room > 16 * SHORT:
            dat_ids_clear(&scratch.ids)
        self.pool.append(scratch)
        return count

    cdef list as_list(self, const uint32_t *ids, size_t count):
        cdef size_t i
        cdef uint32_t id
        cdef PyObject *number
        cdef list found = PyList_New(count)
        cdef object made
        if self.numbers == NULL:
            self.number_count = min(<size_t>NUMBERS_MOST, self.greatest() + 1)
            self.numbers = <PyObject **>dat_zeroed(self.number_count, sizeof(PyObject *))
            if self.numbers == NULL:
                self.number_count = 0
        for i in range(count):
            id = ids[i]
            number = self.numbers[id] if id < self.number_count else NULL
            if number == NULL:
                made = PyLong_FromUnsignedLong(id)
                if id < self.number_count:
                    Py_INCREF(made)
                    self.numbers[id] = <PyObject *>made
                number = <PyObject *>made
            Py_INCREF(<object>number)
            PyList_SET_ITEM(found, i, <object>number)
        return found

    cdef size_t greatest(self):
        cdef size_t i, last = self.vocab.count - 1
        cdef size_t most = (
            dat_id(&self.vocab, self.vocab.by_id[last]) if self.vocab.by_id != NULL else self.vocab.ids[last])
        for i in range(self.vocab.specials.count):
            most = max(most, <size_t>self.vocab.specials.ids[i])
        return most

    def encode_spans(self, data, *, bint specials=False):
        """The ids, and the bytes that each covers: numpy.uint64[n, 2]."""
        cdef dat_ids ids
        cdef dat_marks marks
        cdef Input held
        cdef Scratch scratch
        cdef uint64_t[:, ::1] view
        ids.items = NULL
        ids.count = ids.room = 0
        marks.items = NULL
        marks.count = marks.room = 0
        try:
            self.may(specials)
            held = Input(data)
            scratch = self.take()
            self.run(scratch, &held.opened, specials, &ids, &marks)
            self.pool.append(scratch)
            spans = numpy.empty((ids.count, 2), numpy.uint64)
            if ids.count:
                view = spans
                dat_spans(&self.vocab, ids.items, ids.count, &marks, &view[0, 0])
            return lend_ids(&ids), spans
        finally:
            dat_marks_clear(&marks)
            dat_ids_clear(&ids)

    cdef object run_batch(self, const dat_document *documents, size_t count, size_t threads, bint specials):
        cdef size_t i, total = 0
        for i in range(count):
            total += documents[i].size
        # A thread without a document, or a part of one, would only hold memory.
        threads = max(1, min(threads, count + total // DAT_PART_BYTES))
        cdef list scratches = [self.take() for _ in range(threads)]
        cdef dat_scratch **pointers = <dat_scratch **>dat_alloc(threads, sizeof(dat_scratch *))
        cdef uint64_t *offsets = <uint64_t *>dat_alloc(count + 1, sizeof(uint64_t))
        cdef dat_ids ids
        cdef dat_status status = DAT_NO_MEMORY
        ids = self.take_spare()
        if pointers != NULL and offsets != NULL:
            for i in range(threads):
                pointers[i] = &(<Scratch>scratches[i]).scratch
            with nogil:
                status = dat_ids_expect(&ids, total // 3 + 8) if threads == 1 and ids.room == 0 else DAT_OK
                if status == DAT_OK:
                    status = dat_encode_batch(
                        &self.vocab, pointers, threads, documents, count, specials, &ids, offsets)
        dat_free(pointers)
        if status != DAT_OK:
            dat_ids_clear(&ids)
            dat_free(offsets)
            check(status)
        self.pool.extend(scratches)
        lent = lend_offsets(offsets, count + 1)
        return lend_ids(&ids, self), lent

    def encode_batch(self, documents, size_t threads, bint specials):
        """The ids of many documents: values numpy.uint32[sum], offsets numpy.uint64[n + 1]."""
        # Held by this list: another thread may change the one that was given.
        cdef list held = list(documents)
        cdef list others = []
        cdef size_t count = len(held)
        cdef dat_document *list_ = <dat_document *>dat_alloc(count, sizeof(dat_document))
        cdef Input other
        cdef object document
        cdef size_t i
        if list_ == NULL:
            raise MemoryError
        try:
            for i in range(count):
                document = held[i]
                if isinstance(document, bytes):
                    list_[i].data = <const uint8_t *>PyBytes_AS_STRING(document)
                    list_[i].size = PyBytes_GET_SIZE(document)
                else:
                    try:
                        other = Input(document)
                    except (TypeError, BufferError, UnicodeEncodeError) as error:
                        raise placed(error, i)
                    others.append(other)
                    list_[i].data = other.data
                    list_[i].size = other.size
            return self.run_batch(list_, count, threads, specials)
        finally:
            dat_free(list_)

    def encode_batch_lists(self, documents, size_t threads, bint specials):
        """As encode_batch: a list of int a document."""
        values, offsets = self.encode_batch(documents, threads, specials)
        cdef const uint32_t[::1] ids = values
        cdef const uint64_t[::1] cuts = offsets
        cdef Py_ssize_t i
        cdef list found = []
        for i in range(cuts.shape[0] - 1):
            found.append(self.as_list(&ids[0] + cuts[i], cuts[i + 1] - cuts[i]) if cuts[i + 1] > cuts[i] else [])
        return found

    def encode_buffer(self, data, const uint64_t[::1] offsets, size_t threads, bint specials):
        """As encode_batch, for documents that lie in one buffer: document i is data[offsets[i]:offsets[i + 1]]."""
        cdef Input source = Input(data)
        cdef size_t count, i
        cdef dat_document *list_
        if offsets.shape[0] == 0:
            raise ValueError("offsets: at least one is needed")
        count = offsets.shape[0] - 1
        for i in range(count):
            if offsets[i] > offsets[i + 1]:
                raise ValueError(f"offsets: {offsets[i]} before {offsets[i + 1]} at {i}")
        if offsets[count] > source.size:
            raise ValueError(f"offsets: {offsets[count]} is past the buffer's end at {source.size}")
        list_ = <dat_document *>dat_alloc(count, sizeof(dat_document))
        if list_ == NULL:
            raise MemoryError
        try:
            for i in range(count):
                list_[i].data = source.data + offsets[i]
                list_[i].size = offsets[i + 1] - offsets[i]
            return self.run_batch(list_, count, threads, specials)
        finally:
            dat_free(list_)

    def decode(self, const uint32_t[::1] ids):
        """Their bytes. ValueError names the first id that the vocabulary lacks, and its index."""
        cdef size_t count = ids.shape[0]
        cdef size_t size = 0, bad = 0
        cdef dat_status status
        cdef bytes out
        cdef uint8_t *target
        if count == 0:
            return b""
        with nogil:
            status = dat_decoded_size(&self.vocab, &ids[0], count, &size, &bad)
        if status == DAT_BAD_ID:
            raise ValueError(f"id {ids[bad]} at index {bad}: not in the vocabulary")
        check(status)
        out = PyBytes_FromStringAndSize(NULL, size)
        target = <uint8_t *>PyBytes_AS_STRING(out)
        cdef size_t written
        with nogil:
            written = dat_decode(&self.vocab, &ids[0], count, target, size)
        return out if written == size else out[:written]

    def pretokens(self, document):
        """The ends of the pretokens of a document without special tokens, as a list of byte offsets."""
        cdef Input source = Input(document)
        cdef dat_text text
        cdef const uint8_t *p = source.data
        if self.vocab.splitter != NULL:
            return split_ends(self.vocab.splitter, source)
        text.end = p + source.size
        text.classes = &self.vocab.classes
        text.pattern = &self.vocab.pattern
        text.trace = NULL
        ends = []
        while p < text.end:
            p = dat_next_piece(&text, p)
            ends.append(p - source.data)
        return ends

    def block_pretokens(self, document, int level):
        """As pretokens, the way that encoding finds them on a level of instructions."""
        cdef Input source = Input(document)
        cdef Scratch scratch = self.take()
        cdef dat_ids ends
        ends.items = NULL
        ends.count = ends.room = 0
        cdef dat_status status = dat_piece_ends(
            &self.vocab, &scratch.scratch, <dat_level>level, source.data, source.data + source.size, &ends)
        try:
            check(status)
            return [ends.items[i] for i in range(ends.count)]
        finally:
            dat_ids_clear(&ends)


def tables_of(make, arguments):
    """The tables of the encoder that a recipe makes."""
    return make(*arguments)._tables


def about_profile(data):
    """What a profile says of itself, as bytes; DamagedError where it cannot be one of ours."""
    cdef Input source = Input(data)
    cdef const dat_profile *head = <const dat_profile *>source.data
    check(dat_profile_check(source.data, source.size))
    return source.data[head.sections[DAT_ABOUT].at:head.sections[DAT_ABOUT].at + head.sections[DAT_ABOUT].size]


def is_general(data):
    """Whether a profile is split by programs, which its description makes; False too where it is none."""
    cdef Input source = Input(data)
    return source.size >= dat_profile_start() and (<const dat_profile *>source.data).flags & DAT_GENERAL != 0


def read_profile(data):
    """What the head of a profile says, and its `about` as bytes; DamagedError where it cannot be one of ours."""
    cdef Input source = Input(data)
    cdef const dat_profile *head = <const dat_profile *>source.data
    check(dat_profile_check(source.data, source.size))
    about = source.data[head.sections[DAT_ABOUT].at:head.sections[DAT_ABOUT].at + head.sections[DAT_ABOUT].size]
    return {
        "version": head.version, "size": head.size, "tokens": head.count, "longest": head.longest,
        "unreachable": head.unreachable, "pairs": head.pairs, "slots": head.slots,
        "unicode": (<const char *>head.unicode)[:8].rstrip(b"\0").decode("ascii", "replace"),
        "sections": [(head.sections[i].at, head.sections[i].size) for i in range(DAT_SECTIONS)],
        "contents": head.contents[:32], "start": dat_profile_start(), "classes": head.classes,
    }, about


def split(programs, int unicode, document):
    """The ends of the pieces that programs (words and names of alternatives each) make of a document."""
    cdef dat_classes tables
    cdef Splitter splitter = Splitter(programs)
    if not 0 <= unicode < DAT_UNICODE_VERSIONS:
        raise ValueError("unicode: no such table")
    dat_classes_init(&tables, &dat_unicode_versions[unicode])
    splitter.build(&tables)
    return split_ends(&splitter.splitter, Input(document))


def general_categories(int unicode):
    """One byte a code point: index into CATEGORIES, plus 32 where it is White_Space. As the encoder reads them."""
    if not 0 <= unicode < DAT_UNICODE_VERSIONS:
        raise ValueError("unicode: no such table")
    cdef bytes out = PyBytes_FromStringAndSize(NULL, DAT_CODE_POINTS)
    cdef uint8_t *target = <uint8_t *>PyBytes_AS_STRING(out)
    cdef uint32_t point
    for point in range(<uint32_t>DAT_CODE_POINTS):
        target[point] = dat_category_of(&dat_unicode_versions[unicode], point)
    return out


def classes(int unicode, values):
    """The encoder's class bit of each value: a code point, or a byte of 0x80 and above with bit 31 set."""
    cdef dat_classes tables
    if not 0 <= unicode < DAT_UNICODE_VERSIONS:
        raise ValueError("unicode: no such table")
    dat_classes_init(&tables, &dat_unicode_versions[unicode])
    return [dat_class(&tables, value) for value in values]


def byte_characters():
    """The byte alphabet: 256 code points."""
    return [dat_byte_character(byte) for byte in range(256)]


def scan(bytes text):
    """The values at all positions: code points, and ill-formed bytes with bit 31 set."""
    cdef size_t size = len(text)
    cdef uint32_t *values = <uint32_t *>dat_alloc(size, sizeof(uint32_t))
    cdef size_t count, i
    if values == NULL:
        raise MemoryError
    try:
        count = dat_scan_all(<const uint8_t *>PyBytes_AS_STRING(text), size, values)
        return [values[i] for i in range(count)]
    finally:
        dat_free(values)


def normalize(bytes text, int unicode):
    """NFC, and what changed: (bytes, [(start, end, start, end)]) in bytes of the text and of its NFC."""
    cdef dat_normal work
    cdef const uint8_t *result = NULL
    cdef size_t size = 0, i = 0
    cdef dat_status status
    if not 0 <= unicode < DAT_UNICODE_VERSIONS:
        raise ValueError("unicode: no such table")
    memset(&work, 0, sizeof(work))
    try:
        status = dat_normalize(
            &dat_nfc_versions[unicode], &work, <const uint8_t *>PyBytes_AS_STRING(text), len(text), &result, &size)
        check(status)
        edits = [
            (work.edits[i].origin, work.edits[i].to, work.edits[i].at, work.edits[i].upto)
            for i in range(work.edit_count)
        ]
        return <bytes>result[:size], edits
    finally:
        dat_normal_clear(&work)
