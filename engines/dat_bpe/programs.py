"""Splitting expressions as programs of csrc/split.h: rows of 32-bit words, which that header defines.

A program is checked where it is loaded, not here: it may come from a file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe.charsets import CharSet, between, union
from tokassay.engines.dat_bpe.errors import PatternError
from tokassay.engines.dat_bpe.expressions import (
    Atomic,
    Chars,
    Choice,
    Edge,
    Expression,
    Look,
    Node,
    Repeat,
    Sequence,
    read_expression,
    width,
)

Words = NDArray[numpy.uint32]
MAGIC, VERSION = 0x53544144, 1
MATCH, CHAR, SET, PEEK, JUMP, SPLIT, RUN, TAKE, BEGIN, END, BACK, ATOMIC, LOOK, COMMIT = range(14)
MEMO_VALUE = 0x80000000
INSTRUCTIONS_MOST = 1 << 16
# No ill-formed byte stands for a character from here on: the byte alphabet ends at U+0143.
BEYOND_BYTES = 0x144


@dataclass(frozen=True)
class Program:
    """One compiled expression: its words, and its top-level alternatives as they were written."""

    words: Words
    alternatives: tuple[str, ...]


class _Compiler:
    def __init__(self) -> None:
        self.code: list[list[int]] = []
        self.sets: dict[CharSet, int] = {}
        self.bits = 0
        self.values = 0

    def add(self, operation: int, first: int = 0, second: int = 0, third: int = 0) -> int:
        self.code.append([operation, first, second, third])
        if len(self.code) > INSTRUCTIONS_MOST:
            raise OverflowError
        return len(self.code) - 1

    def memo(self, inside: bool) -> int:
        if inside:
            self.values += 1
            return MEMO_VALUE | (self.values - 1)
        self.bits += 1
        return self.bits - 1

    def set_number(self, chars: CharSet) -> int:
        return self.sets.setdefault(chars, len(self.sets))

    def split(self, inside: bool) -> int:
        return self.add(SPLIT, 0, 0, self.memo(inside))

    def expression(self, expression: Expression) -> None:
        last = len(expression.branches) - 1
        for number, branch in enumerate(expression.branches):
            fork = self.split(False) if number < last else None
            if fork is not None:
                self.code[fork][1] = len(self.code)
            self.node(branch, False)
            self.add(MATCH, number)
            if fork is not None:
                self.code[fork][2] = len(self.code)

    def node(self, node: Node, inside: bool) -> None:
        """Appends the code of a node; `inside` a group that commits, choices keep their outcome."""
        match node:
            case Chars(chars):
                self.one(chars)
            case Sequence(items):
                for item in items:
                    self.node(item, inside)
            case Choice(branches):
                self.choice(branches, inside)
            case Repeat():
                self.repeat(node, inside)
            case Atomic(Repeat(Chars(chars), least, most, False)):
                for _ in range(least):
                    self.one(chars)
                if most is None:
                    self.add(TAKE, self.set_number(chars), 0, self.memo(True))
                elif most > least:
                    self.add(TAKE, self.set_number(chars), most - least)
            case Atomic(item):
                self.group(ATOMIC, 0, item)
            case Look(Chars(chars), False, negated):
                self.add(PEEK, self.set_number(chars), int(negated))
            case Look(item, behind, negated):
                self.group(LOOK, int(negated), item, behind)
            case Edge(end):
                self.add(END if end else BEGIN)

    def one(self, chars: CharSet) -> None:
        single = _single(chars)
        if single is not None and (single < 0x80 or single >= BEYOND_BYTES):
            self.add(CHAR, single)
        else:
            self.add(SET, self.set_number(chars))

    def choice(self, branches: tuple[Node, ...], inside: bool, behind: bool = False) -> None:
        rest = branches if behind else _merged(branches)
        jumps: list[int] = []
        for number, branch in enumerate(rest):
            fork = self.split(inside) if number < len(rest) - 1 else None
            if fork is not None:
                self.code[fork][1] = len(self.code)
            if behind and width(branch):
                self.add(BACK, width(branch) or 0)
            self.node(branch, inside)
            if fork is not None:
                jumps.append(self.add(JUMP))
                self.code[fork][2] = len(self.code)
        for jump in jumps:
            self.code[jump][1] = len(self.code)

    def repeat(self, node: Repeat, inside: bool) -> None:
        item, least, most = node.item, node.least, node.most
        if most is None and isinstance(item, Chars) and not node.lazy:
            for _ in range(least):
                self.one(item.chars)
            self.add(RUN, self.set_number(item.chars), 0, self.memo(inside))
            return
        for _ in range(least - 1 if most is None else least):
            self.node(item, inside)
        if most is not None:
            forks = []
            for _ in range(most - least):
                forks.append(self.split(inside))
                self.code[forks[-1]][1] = len(self.code)
                self.node(item, inside)
            for fork in forks:
                self.aim(fork, self.code[fork][1], len(self.code), node.lazy)
        elif least > 0:
            start = len(self.code)
            self.node(item, inside)
            fork = self.split(inside)
            self.aim(fork, start, len(self.code), node.lazy)
        else:
            fork = self.split(inside)
            self.node(item, inside)
            self.add(JUMP, fork)
            self.aim(fork, fork + 1, len(self.code), node.lazy)

    def aim(self, fork: int, again: int, on: int, lazy: bool) -> None:
        self.code[fork][1:3] = (on, again) if lazy else (again, on)

    def group(self, operation: int, negated: int, item: Node, behind: bool = False) -> None:
        opened = self.add(operation, 0, negated)
        if behind:
            self.choice(item.branches if isinstance(item, Choice) else (item,), True, behind=True)
        else:
            self.node(item, True)
        self.add(COMMIT)
        self.code[opened][1] = len(self.code)

    def words(self) -> Words:
        starts: list[int] = []
        pool: list[int] = []
        for chars in self.sets:
            starts.append(len(pool))
            pool.append(len(chars))
            for first, mask in chars:
                pool += [first, mask & 0xFFFFFFFF, mask >> 32]
        head = [MAGIC, VERSION, len(self.code), self.bits, self.values, len(self.sets), len(pool), 0]
        flat = [word for row in self.code for word in row]
        return numpy.array(head + flat + starts + pool, numpy.uint32)


def _single(chars: CharSet) -> int | None:
    """The one code point of a set of one, or None."""
    for first, mask in chars:
        if mask:
            return first if chars == between(first, first) else None
    return None


def _merged(branches: tuple[Node, ...]) -> tuple[Node, ...]:
    """Neighbouring branches of one character each are one set: which of them takes it makes no difference."""
    merged: list[Node] = []
    for branch in branches:
        if merged and isinstance(branch, Chars) and isinstance(merged[-1], Chars):
            merged[-1] = Chars(union([merged[-1].chars, branch.chars]))
        else:
            merged.append(branch)
    return tuple(merged)


def compile_expression(text: str, where: str = "pattern") -> Program:
    """The program of an expression. Raises PatternError for what is not supported, with its place."""
    expression = read_expression(text, where)
    compiler = _Compiler()
    try:
        compiler.expression(expression)
    except OverflowError:
        raise PatternError(
            f"pattern of more than {INSTRUCTIONS_MOST} instructions", where=f"{where}, {text!r}",
            remedy="use smaller counts",
        ) from None
    return Program(compiler.words(), expression.texts)
