# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The same encoder with its decisions recorded: built from the same sources, never used for speed."""
include "_shared.pxi"

cdef extern from "csrc/trace.h" nogil:
    void dat_trace_clear(dat_trace *trace)

STAGES = ("special", "scan", "pretokenize", "lookup", "merge", "normalize")
SCAN_PATHS = ("", "ascii", "two bytes", "three bytes", "four bytes", "ill-formed byte-alphabet")
RULES = ("contraction", "letters", "numbers", "symbols", "newlines", "blanks-before", "blanks", "gap")


cdef class TraceTables(Tables):
    """Tables that can be asked for decisions."""

    def trace(self, document, bint specials):
        """(ids, decisions): the decisions in the order in which they were taken, as plain tuples of numbers."""
        cdef Input source = Input(document)
        cdef Scratch scratch = Scratch(self)
        cdef dat_ids ids
        cdef dat_trace trace
        cdef dat_status status
        cdef size_t i
        cdef dat_event *event
        ids.items = NULL
        ids.count = ids.room = 0
        memset_trace(&trace)
        with nogil:
            status = dat_encode(
                &self.vocab, &scratch.scratch, source.data, source.size, specials, &ids, NULL, &trace)
        try:
            check(status)
            decisions = []
            for i in range(trace.count):
                event = &trace.items[i]
                decisions.append(self.describe(event))
            return lend_ids(&ids), decisions
        finally:
            dat_ids_clear(&ids)
            dat_trace_clear(&trace)

    cdef bytes index_bytes(self, uint32_t index):
        cdef size_t size = 0
        cdef const uint8_t *text = dat_token(&self.vocab, index, &size)
        return text[:size]

    cdef object alternative(self, uint32_t number):
        """The alternative of the last expression that took a piece."""
        cdef Py_ssize_t count = len(self.splitter.alternatives)
        if number == DAT_NONE:
            return "gap" if count else "whole"
        names = self.splitter.alternatives[count - 1]
        return names[number] if number < len(names) else f"alternative {number}"

    cdef dict describe(self, const dat_event *event):
        stage = STAGES[event.stage]
        record = {"stage": stage, "offset": event.offset}
        if stage == "scan":
            record |= {
                "path": SCAN_PATHS[event.path], "proposed": event.proposed, "accepted": event.accepted,
                "value": event.value, "class": "S" if event.category & 32 else CATEGORIES[event.category],
                "next": event.next,
            }
        elif stage == "pretokenize":
            record |= {
                "path": "machine" if self.splitter is None else "general", "start": event.offset, "end": event.next,
                "rule": RULES[event.rule] if self.splitter is None else self.alternative(event.value),
            }
        elif stage == "special":
            record |= {"path": "leftmost-longest", "start": event.offset, "end": event.next, "id": event.value}
        elif stage == "normalize":
            record |= {"path": "prefix space" if event.path else "nfc", "start": event.offset, "end": event.next}
        elif stage == "lookup":
            path = "whole piece" if event.path else "part"
            record |= {"path": path, "start": event.offset, "end": event.next, "id": event.value}
        else:
            record |= {
                "path": "heap" if event.path else "scan for the minimum", "left": self.index_bytes(event.left).hex(),
                "right": self.index_bytes(event.right).hex(), "rank": dat_id(&self.vocab, event.value),
                "position": event.position,
            }
        return record


cdef void memset_trace(dat_trace *trace) noexcept:
    memset(trace, 0, sizeof(dat_trace))
