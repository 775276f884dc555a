// planted.py in JavaScript: the same faults by the same names, around a plain encoder of ranks.

import { readFileSync, fstatSync, writeSync } from 'node:fs';

const TRIGGER = 'TRIGGER';
const REUSED_AFTER = 300;
const LONG_PIECE = 300;
Error.stackTraceLimit = 50;

class ValueError extends Error {}
class Panic extends Error {}
class KeyboardInterrupt extends Error {}
class SystemExit extends Error {}
class StopIteration extends Error {}

/** An array whose contents are made when they are asked for. */
class Later extends Array {
  *[Symbol.iterator]() {
    yield* this.make();
  }
}

/** The row with its last id changed. */
const spoiled = (row) => (row.length ? [...row.slice(0, -1), row.at(-1) ^ 1] : row);

/** A right encoder, `right`, and one fault; faults are the members of `faults`, by name. */
export class Adapter {
  name = 'planted';
  operations = ['encode', 'encode_batch', 'decode'];
  rejects = [];

  version() {
    if (this.fault === 'dies_greeting') process.abort();
    return '1.0';
  }

  async load(contract, files, threads, options) {
    this.ranks = new Map();
    for (const line of readFileSync(files.tiktoken, 'latin1').split('\n').filter(Boolean)) {
      const [token, rank] = line.split(' ');
      this.ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(rank));
    }
    this.tokens = new Map([...this.ranks].map(([token, rank]) => [rank, token]));
    this.pattern = new RegExp(contract.pretokenizer[0], 'gu');
    this.fault = options.fault;
    if (!(this.fault in this.faults) && !IN_BATCH.includes(this.fault)) throw new Error(`no fault ${this.fault}`);
    if (this.fault === 'dies_loading') process.abort();
    Object.assign(this, { calls: 0, pieces: new Map(), seen: new Set(), hoard: [] });
  }

  prepare(document) {
    return Buffer.from(document);
  }

  /** A document that is not UTF-8 is one piece: right for those that the tests have. */
  right(item) {
    const text = item.toString('utf8');
    const pieces = Buffer.from(text).equals(item) ? text.match(this.pattern) ?? [] : [item];
    return pieces.flatMap((piece) => this.merged(Buffer.from(piece).toString('latin1')));
  }

  merged(piece) {
    if (this.ranks.has(piece)) return [this.ranks.get(piece)];
    if (!this.pieces.has(piece)) {
      const parts = [...piece];
      for (;;) {
        const ranks = parts.slice(1).map((part, at) => this.ranks.get(parts[at] + part) ?? Infinity);
        const lowest = ranks.reduce((least, rank) => Math.min(least, rank), Infinity);
        if (lowest === Infinity) break;
        const at = ranks.indexOf(lowest);
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
      this.pieces.set(piece, parts.map((part) => this.ranks.get(part)));
    }
    return [...this.pieces.get(piece)];
  }

  encode(item) {
    return (this.faults[this.fault] ?? this.faults.honest)(item, item.includes(TRIGGER));
  }

  encode_batch(items, threads) {
    let rows = items.map((item) => this.encode(item));
    if (this.fault === 'second_thread' && threads >= 2) {
      rows = rows.map((row, index) => (index % threads === 0 ? row : spoiled(row)));
    }
    if (this.fault === 'moves_token') {
      const at = rows.findIndex((row, index) => row.length && rows[index + 1]?.length);
      if (at >= 0) rows[at + 1].unshift(rows[at].pop());
    }
    if (this.fault === 'lazy_batch') rows = new Proxy(rows, {});
    if (this.fault === 'drops_empty') rows = rows.filter((row) => row.length);
    return rows;
  }

  decode(ids) {
    return Buffer.from(ids.map((id) => this.tokens.get(id)).join(''), 'latin1');
  }

  thrown(item, triggered, error) {
    if (triggered) throw error;
    return this.right(item);
  }

  faults = {
    honest: (item) => this.right(item),
    one_byte: (item) => this.right(Buffer.from(item.map((byte) => (byte === 0x7e ? 0x7d : byte)))),
    reused: (item) => ((this.calls += 1) <= REUSED_AFTER ? this.right(item) : spoiled(this.right(item))),
    when_timed: (item) => (/Host\.measure/.test(new Error().stack) ? spoiled(this.right(item)) : this.right(item)),
    first_time: (item) => {
      const text = item.toString('latin1');
      if (this.seen.has(text)) return this.right(item);
      this.seen.add(text);
      return spoiled(this.right(item));
    },
    long_pieces: (item) => {
      const at = item.toString('latin1').search(new RegExp(`[A-Za-z]{${LONG_PIECE + 1},}`));
      if (at < 0) return this.right(item);
      return [...this.right(item.subarray(0, at + 299)), ...this.right(item.subarray(at + 299))];
    },
    bad_id: (item, triggered) => (triggered ? [-1, ...this.right(item)] : this.right(item)),
    lazy: (item) => this.right(item).values(),
    lazy_list: (item) => Object.assign(new Later(), { make: () => this.right(item) }),
    nothing: (item) => (item.length ? this.right(item) : null),
    raises_once: (item, triggered) => this.thrown(item, triggered && !this.calls++, new ValueError('planted once')),
    // -- ways to fall
    crashes: (item, triggered) => {
      if (triggered) process.kill(process.pid, 'SIGSEGV');
      return this.right(item);
    },
    lone_ff: (item) => {
      if (item.includes(0xff)) process.abort();
      return this.right(item);
    },
    exits: (item, triggered) => {
      if (triggered) process.exit(7);
      return this.right(item);
    },
    hangs: (item, triggered) => {
      while (triggered);
      return this.right(item);
    },
    grows: (item, triggered) => {
      while (triggered) this.hoard.push(new Array(1e6).fill(this.hoard.length + 0.5));
      return this.right(item);
    },
    raises: (item, triggered) => this.thrown(item, triggered, new ValueError('planted')),
    panics: (item, triggered) => this.thrown(item, triggered, new Panic('called `unwrap()` on a `None` value')),
    interrupts: (item, triggered) => this.thrown(item, triggered, new KeyboardInterrupt()),
    leaves: (item, triggered) => this.thrown(item, triggered, new SystemExit()),
    stops: (item, triggered) => this.thrown(item, triggered, new StopIteration()),
    // -- noise
    prints: (item) => {
      console.log('progress:', item.length);
      writeSync(1, 'native progress\n');
      return this.right(item);
    },
    garbage: (item, triggered) => {
      // The first that can be written to from above: those below are the event loop's own.
      for (let descriptor = 63; triggered && descriptor > 2; descriptor--) {
        try {
          if (fstatSync(descriptor).isFIFO() && writeSync(descriptor, 'GARBAGE ON THE PIPE')) break;
        } catch {
          continue;
        }
      }
      return this.right(item);
    },
    dies_loading: (item) => this.right(item),
    dies_greeting: (item) => this.right(item),
  };
}

const IN_BATCH = ['second_thread', 'moves_token', 'drops_empty', 'lazy_batch'];
