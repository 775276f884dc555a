// The process of an engine in JavaScript: reads framed requests, runs one adapter, answers with ids and their digests.
//
// Run by path as `node --expose-gc host.mjs ADAPTER.mjs`: one file, Node's standard library only, Node 20 or later.
// docs/FORMATS.md has the frames, bodies and digests; client.py is the other end, host.py the same in Python.
//
// How a figure made here should be read:
//
// * Documents are turned into what the entry point takes (`prepare`) before the clock starts, afresh for each
//   repetition, because a string may remember what was made of it.
// * The clock covers a bare loop, or the one batch call. It stops when the ids exist as an array or a typed array;
//   anything lazier is an error: a promise, a proxy, a subclass, an array with getters, memory that is shared.
// * The digest is made, after the clock stops, from the very objects the timed call returned. `kept` sends those ids.
// * What the host itself has left is collected before the clock starts. The engine's own collections are in it: in
//   this language an allocation costs a collection, and nobody can turn that off. CPU time is of all threads of the
//   process, also of those that compile and collect, so that it may exceed wall time.
// * When a document throws, the repetition is done again one document at a time (by halving, for a batch) and marked
//   `irregular`: its time is not one call's time.

import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, readFileSync, readSync, symlinkSync, writeSync }
  from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import v8 from 'node:v8';

const MAGIC = Buffer.from('TKA1');
const PROTOCOL = 1;
const MAX_HEAD = 2 ** 20;
const MAX_BODY = 2 ** 30;
const MAX_ERRORS = 100;
const MAX_MESSAGE = 300;
const [IDS, REJECT, OTHER] = [0, 1, 2];
const DOMAINS = { ids: 'TKAB\x01', spans: 'TKAO\x01', texts: 'TKAT\x01' };
// What is timed for a benchmark: each engine's best way to one form of output, declared by its adapter as `entries`.
const ENTRIES = ['whole', 'documents_list', 'batch_flat', 'batch_list'];
const BATCHES = ['encode_batch', 'batch_flat', 'batch_list'];
const LISTS = ['documents_list', 'batch_list'];
const DECODES = ['decode', 'decode_stream', 'decode_offsets'];
// Asked to compare an engine with itself, and never timed.
const SELF = ['encode_spans', 'decode_stream', 'decode_offsets'];
const KINDS = {
  encode: 'ids', encode_batch: 'ids', offsets: 'spans', decode: 'texts', encode_spans: 'ids', decode_stream: 'texts',
  decode_offsets: 'ids', ...Object.fromEntries(ENTRIES.map((entry) => [entry, 'ids'])),
};
const collect = globalThis.gc ?? (() => {});

/** The engine cannot do what is asked of it; the message is the reason shown in the verdict. */
class Unsupported extends Error {}
/** The engine declines this document, as its declared byte policy says it does. */
class Reject extends Error {}
/** The stream no longer makes sense; the process ends. */
class BadFrame extends Error {}
/** A request's body does not hold what its verb needs. */
class BadBody extends Error {}
// What host.py calls an output that is none, by the names it has there.
class ValueError extends Error {}
class OverflowError extends Error {}
// An adapter uses these two without importing them.
Object.assign(globalThis, { Unsupported, Reject });

const kindOf = (error) => {
  if (!(error instanceof Error)) return typeof error;
  return typeof error.code === 'string' ? error.code : error.constructor.name;
};

/** The error's text, one line, bounded; one that cannot be shown does not end the host. */
function messageOf(error) {
  let text;
  try {
    text = String(error instanceof Error ? error.message : error).split(/\s+/).filter(Boolean).join(' ');
  } catch {
    text = '(its message could not be shown)';
  }
  return text.slice(0, MAX_MESSAGE);
}

// -- columns: what is hashed and sent ---------------------------------------------------------------------------------

const bytesOf = (column) => Buffer.from(column.buffer, column.byteOffset, column.byteLength);

function u64(value) {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}

/** One operation's output over n documents. `counts`: u32 ids or spans, u64 text lengths; `values`: u32, or bytes. */
class Columns {
  constructor(kind, status, counts, values) {
    Object.assign(this, { kind, status, counts, values });
  }

  /** SHA-256 of the block, hex; `lengths` are the documents' byte lengths (u64). */
  digest(lengths) {
    const state = createHash('sha256').update(DOMAINS[this.kind], 'latin1').update(u64(this.status.length));
    for (const column of [lengths, this.status, this.counts, this.values]) state.update(bytesOf(column));
    return state.digest('hex');
  }

  /** The reply body, as a list of buffers. */
  body() {
    const parts = [u64(this.status.length), this.status];
    if (this.kind !== 'texts') return [...parts, bytesOf(this.counts), bytesOf(this.values)];
    const ends = new BigUint64Array(this.counts.length + 1);
    this.counts.forEach((count, index) => { ends[index + 1] = ends[index] + count; });
    return [...parts, bytesOf(ends), this.values];
  }

  get total() {
    return this.counts.reduce((sum, count) => sum + Number(count), 0);
  }
}

const nameOf = (value) => (value === null || value === undefined ? String(value) : value.constructor?.name ?? 'object');

// Only an array in dictionary mode can have getters among its elements. V8 tells in no time; asking for the
// descriptor of each element takes 0.2 microseconds an id.
const inDictionaryMode = (() => {
  try {
    v8.setFlagsFromString('--allow-natives-syntax');
    return new Function('array', 'return %HasDictionaryElements(array)');
  } catch {
    return () => true;
  } finally {
    v8.setFlagsFromString('--no-allow-natives-syntax');
  }
})();
const prototypes = [Array.prototype, Object.prototype];
const members = prototypes.map((one) => Reflect.ownKeys(one).length);

/** Whether `row` is an array and nothing that behaves like one: reading it runs no code. */
function isPlainArray(row) {
  if (!Array.isArray(row) || types.isProxy(row) || Object.getPrototypeOf(row) !== Array.prototype) return false;
  // What stands in for a hole would come from these.
  if (prototypes.some((one, index) => Reflect.ownKeys(one).length !== members[index])) return false;
  if (!inDictionaryMode(row)) return true;
  return row.every((_, index) => 'value' in Object.getOwnPropertyDescriptor(row, index));
}

const INTEGERS = new Set(['Uint8Array', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array', 'Int32Array',
  'BigInt64Array', 'BigUint64Array', 'Uint8ClampedArray']);
const TYPED = Object.getPrototypeOf(Uint8Array.prototype);
const tagOf = Object.getOwnPropertyDescriptor(TYPED, Symbol.toStringTag).get;
const bufferOf = Object.getOwnPropertyDescriptor(TYPED, 'buffer').get;

/** A typed array's true name ("" for anything else); TypeError where others may still write into it. */
function typedName(row) {
  const name = tagOf.call(row) ?? '';
  if (name && types.isSharedArrayBuffer(bufferOf.call(row))) {
    throw new TypeError('ids in shared memory may change after the clock stopped');
  }
  return name;
}

/** One document's ids as u32, of an array or a typed array of integers; TypeError or OverflowError otherwise. */
function uint32Row(row) {
  const name = typedName(row);
  if (name === 'Uint32Array') return new Uint32Array(row);
  if (name ? !INTEGERS.has(name) : !isPlainArray(row)) {
    throw new TypeError(`ids must be an array or a typed array of integers, not ${nameOf(row)}`);
  }
  const out = new Uint32Array(row.length);
  for (let index = 0; index < row.length; index++) {
    const value = name.startsWith('Big') ? Number(row[index]) : row[index];
    if (value >>> 0 !== value) throw notAnId(value);
    out[index] = value;
  }
  return out;
}

function notAnId(value) {
  if (typeof value !== 'number') return new TypeError(`an id must be a number, not ${nameOf(value)}`);
  return new OverflowError(`an id must be a whole number from 0 to 4294967295, not ${value}`);
}

/** One document's spans as u32 start, end, ... */
function spanRow(row) {
  if (!isPlainArray(row) || !row.every((span) => isPlainArray(span) && span.length === 2)) {
    throw new TypeError('spans must be an array of arrays of two');
  }
  return uint32Row(row.flat());
}

/** One document's text; TypeError unless it is bytes. */
function textRow(row) {
  if (typedName(row) !== 'Uint8Array') throw new TypeError(`decode must return bytes, not ${nameOf(row)}`);
  return row;
}

/** What one pass over a block gave: statuses and errors. */
class Outcome {
  constructor(size) {
    this.status = new Uint8Array(size);
    this.errors = [];
    this.errorCount = 0;
    this.irregular = false;
  }

  /** Record why document `index` has no ids. */
  fail(index, error, rejects) {
    const declared = rejects.some((kind) => (typeof kind === 'string' ? error?.code === kind : error instanceof kind));
    if (declared) this.status[index] = REJECT;
    else this.note(index, kindOf(error), messageOf(error));
  }

  /** Record document `index` as an error. */
  note(index, kind, message) {
    this.status[index] = OTHER;
    this.errorCount += 1;
    if (this.errors.length < MAX_ERRORS) this.errors.push([index, kind, message]);
  }
}

/** Whether a batch came back as {ids, counts} or {ids, offsets} and not as an array of rows. */
const isFlat = (out) => out !== null && typeof out === 'object' && !Array.isArray(out) && 'ids' in out;

function formOf(out) {
  if (isFlat(out)) return 'flat buffer';
  return out.length ? nameOf(out[0]) : 'none';
}

/** Columns of `rows`, one entry a document; a row of the wrong form is that document's error. */
function buildColumns(kind, rows, outcome) {
  if (isFlat(rows)) return new Columns(kind, outcome.status, uint32Row(rows.counts), uint32Row(rows.ids));
  const convert = { ids: uint32Row, spans: spanRow, texts: textRow }[kind];
  const made = rows.map((row, index) => {
    if (outcome.status[index] === IDS) {
      try {
        return convert(row);
      } catch (error) {
        outcome.fail(index, error, []);
      }
    }
    return new Uint8Array(0);
  });
  if (kind === 'texts') {
    const lengths = BigUint64Array.from(made, (text) => BigInt(text.length));
    return new Columns(kind, outcome.status, lengths, Buffer.concat(made));
  }
  const counts = Uint32Array.from(made, (row) => (kind === 'spans' ? row.length / 2 : row.length));
  const values = new Uint32Array(made.reduce((sum, row) => sum + row.length, 0));
  let at = 0;
  for (const row of made) {
    values.set(row, at);
    at += row.length;
  }
  return new Columns(kind, outcome.status, counts, values);
}

// -- running one operation over a block -------------------------------------------------------------------------------

/** Starts a clock; calling what it gives stops it: wall and CPU nanoseconds (CPU: of all threads of the process). */
function clock() {
  const cpu = process.cpuUsage();
  const wall = process.hrtime.bigint();
  return () => {
    const ns = Number(process.hrtime.bigint() - wall);
    const { user, system } = process.cpuUsage(cpu);
    return { ns, cpu_ns: (user + system) * 1000 };
  };
}

/** Return at that reading of the monotonic clock, which all processes of a machine share; at once without one. */
function waitUntil(when) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    const left = when === undefined || when === null ? 0 : when - Number(process.hrtime.bigint());
    if (left <= 0) return;
    if (left > 3e6) Atomics.wait(cell, 0, 0, left / 1e6 - 2);
  }
}

/** `call` on every item under the clock: rows, and which item threw first, if any did. */
function each(call, items) {
  const rows = [];
  let problem = null;
  const stop = clock();
  try {
    for (const item of items) rows.push(call(item));
  } catch (error) {
    problem = { at: rows.length, error };
  }
  return { rows, problem, clock: stop() };
}

/** As `each`, one document at a time: what is thrown becomes its document's error and the loop goes on. */
function eachCarefully(call, items, live, outcome, rejects) {
  const total = { ns: 0, cpu_ns: 0 };
  const rows = items.map((item, index) => {
    let row = null;
    const stop = clock();
    try {
      row = call(item);
    } catch (error) {
      outcome.fail(live[index], error, rejects);
    }
    const { ns, cpu_ns } = stop();
    total.ns += ns;
    total.cpu_ns += cpu_ns;
    return row;
  });
  return { rows, clock: total };
}

/** TypeError unless every row is an array and nothing that behaves like one. */
function onlyArrays(rows) {
  const wrong = isPlainArray(rows) ? rows.find((row) => !isPlainArray(row)) : rows;
  if (wrong !== undefined) throw new TypeError(`this entry point must give arrays, not ${nameOf(wrong)}`);
}

/** A batch's result with one row an item, a flat one with counts; throws where rows and items do not pair up. */
function checkedBatch(out, size) {
  if (!isFlat(out)) {
    if (!isPlainArray(out)) throw new TypeError(`a batch must be an array of rows, not ${nameOf(out)}`);
    if (out.length !== size) throw new ValueError(`${size} documents gave ${out.length} rows`);
    return out;
  }
  let [ids, counts] = [uint32Row(out.ids), out.counts && uint32Row(out.counts)];
  if (out.offsets) {
    const edges = uint32Row(out.offsets);
    if (!edges.length || edges.some((edge, index) => edge < edges[index - 1])) {
      throw new ValueError('offsets of a batch must be n + 1 and must not fall');
    }
    counts = Uint32Array.from(edges.subarray(1), (edge, index) => edge - edges[index]);
    ids = ids.subarray(edges[0], edges.at(-1));
  }
  if (counts.length !== size || counts.reduce((sum, count) => sum + count, 0) !== ids.length) {
    throw new ValueError(`${size} documents gave ${counts.length} counts and ${ids.length} ids`);
  }
  return { ids, counts };
}

/** A batch's result as one row a document. */
function asRows(out) {
  if (!isFlat(out)) return out;
  let end = 0;
  return Array.from(out.counts, (count) => out.ids.subarray(end, (end += count)));
}

/** A batch call with what is needed to blame a failure on the smallest batch that shows it. */
class Batch {
  constructor(call, threads, outcome, rejects, op) {
    Object.assign(this, { call, threads, outcome, rejects, op, form: '' });
  }

  /** One timed call. */
  whole(items) {
    let [out, problem] = [null, null];
    const stop = clock();
    try {
      out = this.call(items, this.threads);
    } catch (error) {
      problem = { error };
    }
    const time = stop();
    if (problem === null) {
      try {
        if (isFlat(out) || isPlainArray(out)) this.form = formOf(out);
        if (this.op === 'batch_list') onlyArrays(out);
        out = checkedBatch(out, items.length);
      } catch (error) {
        [out, problem] = [null, { error }];
      }
    }
    return { out, problem, clock: time };
  }

  /**
   * Rows of a batch that failed, split until single documents fail. Where a batch fails but its halves do not, the
   * failure is every document's: it belongs to the whole.
   */
  halve(items, live, problem) {
    if (items.length === 1) {
      this.outcome.fail(live[0], problem.error, this.rejects);
      return [null];
    }
    const middle = items.length >> 1;
    let blamed = false;
    const rows = [[0, middle], [middle, items.length]].flatMap(([start, end]) => {
      const part = items.slice(start, end);
      const done = this.whole(part);
      if (done.problem === null) return asRows(done.out);
      blamed = true;
      return this.halve(part, live.slice(start, end), done.problem);
    });
    if (blamed) return rows;
    for (const index of live) this.outcome.fail(index, problem.error, []);
    return items.map(() => null);
  }
}

/** `rows` put at their documents' places, null elsewhere. */
function spread(rows, live, size) {
  const out = new Array(size).fill(null);
  live.forEach((index, at) => { out[index] = rows[at]; });
  return out;
}

// -- the verbs --------------------------------------------------------------------------------------------------------

/** One adapter and the verbs that act on it. */
class Host {
  static VERBS = ['hello', 'load', 'measure', 'kept', 'encode', 'decode', 'trace', 'quit'];

  constructor(adapterPath) {
    Object.assign(this, { adapterPath, adapter: null, loaded: false, threads: 1, keptColumns: null });
  }

  /** The adapter, imported on first use. */
  async engine() {
    if (this.adapter === null) {
      const module = await import(pathToFileURL(besideItsPackages(this.adapterPath)));
      const adapter = new module.Adapter();
      for (const operation of [...adapter.operations, ...(adapter.entries ?? [])]) {
        if (!(operation in KINDS)) throw new ValueError(`adapter declares unknown operation ${operation}`);
        // An entry point may be set by `load`: the engine's own function, without one of ours around it.
        if (!ENTRIES.includes(operation) && typeof adapter[operation] !== 'function') {
          throw new TypeError(`adapter declares ${operation} but has no such method`);
        }
      }
      this.adapter = adapter;
    }
    return this.adapter;
  }

  /** What means a declared reject: classes of errors, or their codes. */
  get rejects() {
    return [...(this.adapter.rejects ?? []), Reject];
  }

  /** Who runs here: version as the engine says it, digests of host and adapter, what it can do. */
  async hello() {
    const adapter = await this.engine();
    return {
      engine: adapter.name,
      version: String(adapter.version()),
      python: `node ${process.versions.node}`,
      unicode: process.versions.unicode,
      platform: `${os.type()}-${os.release()}-${os.arch()}`,
      host_sha256: sha256(new URL(import.meta.url)),
      adapter_sha256: sha256(this.adapterPath),
      operations: adapter.operations,
      entries: adapter.entries ?? [],
      forms: Object.keys(adapter.forms ?? {}),
      readers: [],
      tiles: Boolean(adapter.tiles),
      trace: typeof adapter.trace === 'function',
      stages: adapter.stages ?? [],
      offset_unit: adapter.offset_unit ?? 'bytes',
      rejects: this.rejects.map((kind) => (typeof kind === 'string' ? kind : kind.name)),
      notes: (adapter.notes ?? []).map(String),
      limits: JSON.parse(process.env.TOKASSAY_LIMITS ?? '"none"'),
      pid: process.pid,
    };
  }

  /** Load the one vocabulary of this process; `first`: an operation to time right after, on the body's texts. */
  async load(head, body) {
    const adapter = await this.engine();
    if (this.loaded) {
      throw new Error('this host has a vocabulary already: one engine and one vocabulary a process');
    }
    this.loaded = true;
    this.threads = head.threads ?? 1;
    const stop = clock();
    await adapter.load(head.contract, head.files, this.threads, head.options ?? {});
    const reply = stop();
    if ('first' in head) reply.first = await this.measure({ op: head.first }, body);
    return reply;
  }

  /** The loaded adapter, if it does `op`. */
  ready(op) {
    if (!(op in KINDS)) throw new BadBody(`unknown operation '${op}'`);
    if (!this.loaded) throw new Error('nothing loaded: send `load` first');
    if (![...this.adapter.operations, ...(this.adapter.entries ?? [])].includes(op)) {
      throw new Unsupported(`the engine has no operation ${op}`);
    }
    return this.adapter;
  }

  /** What the entry point takes, the indexes it stands for, and the nanoseconds it took. */
  prepare(op, documents, outcome, form) {
    const { adapter } = this;
    let call = (BATCHES.includes(op) && adapter.prepare_batch) || adapter.prepare;
    if (form && form in (adapter.forms ?? {})) call = adapter.forms[form];
    else if (form && typeof call.call(adapter, new Uint8Array(0)) !== form) {
      throw new Unsupported(`the engine's adapter has no form ${form}`);
    }
    const [items, live] = [[], []];
    const stop = clock();
    documents.forEach((document, index) => {
      try {
        items.push(call.call(adapter, document));
        live.push(index);
      } catch (error) {
        outcome.fail(index, error, this.rejects);
      }
    });
    return { items, live, prepareNs: stop().ns };
  }

  /** One pass of `op` over a block, timed; it begins at `when`, a reading of the monotonic clock. */
  once(op, documents, threads, when, form) {
    const [adapter, size, outcome] = [this.ready(op), documents.length, new Outcome(documents.length)];
    const { rejects } = this;
    let { items, live, prepareNs } = this.prepare(op, documents, outcome, form);
    let ids = null;
    const call = adapter[op].bind(adapter);
    if (DECODES.includes(op)) {
      const encoded = eachCarefully((item) => adapter.encode(item), items, live, outcome, rejects);
      const rows = spread(encoded.rows, live, size);
      ids = buildColumns('ids', rows, outcome);
      // A later failure to decode is not one of encoding: the ids keep statuses of their own.
      ids.status = ids.status.slice();
      live = live.filter((index) => outcome.status[index] === IDS);
      items = live.map((index) => rows[index]);
    }
    let [out, form_, time] = [null, '', null];
    collect({ type: 'minor' });
    waitUntil(when);
    if (!BATCHES.includes(op)) {
      const done = each(call, items);
      [out, time] = [done.rows, done.clock];
      if (done.problem !== null) {
        const { at, error } = done.problem;
        outcome.irregular = true;
        ({ rows: out, clock: time } = eachCarefully(call, items, live, outcome, rejects));
        if (outcome.status[live[at]] === IDS) {
          // It failed in the timed call: a second try does not undo that.
          outcome.note(live[at], kindOf(error), messageOf(error));
          out[at] = null;
        }
      }
    } else {
      const batch = new Batch(call, threads, outcome, rejects, op);
      const done = items.length ? batch.whole(items) : { out: [], problem: null, clock: { ns: 0, cpu_ns: 0 } };
      [out, time] = [done.out, done.clock];
      if (done.problem !== null) {
        outcome.irregular = true;
        out = batch.halve(items, live, done.problem);
      }
      form_ = batch.form;
    }
    const stop = clock();
    form_ ||= formOf(out);
    if (LISTS.includes(op) && !outcome.irregular) onlyArrays(out);
    if (live.length !== size) out = spread(asRows(out), live, size);
    const columns = buildColumns(KINDS[op], out, outcome);
    return { columns, outcome, clock: time, prepareNs, columnsNs: stop().ns, form: form_, ids };
  }

  /** Time `op` over the documents `repeat` times; each repetition's own output is hashed afterwards. */
  async measure(head, body) {
    const { op, threads = this.threads, repeat = 1 } = head;
    if (SELF.includes(op)) throw new Unsupported(`${op} is asked, and not timed`);
    const documents = splitDocuments(body);
    const lengths = BigUint64Array.from(documents, (document) => BigInt(document.length));
    const reply = { ns: [], cpu_ns: [], digest: [], irregular: [], prepare_ns: 0, hash_ns: 0, ids_digest: null };
    for (let repetition = 0; repetition < repeat; repetition++) {
      this.keptColumns = null;
      const done = this.once(op, documents, threads, head.start_ns, head.form ?? '');
      const stop = clock();
      const digest = done.columns.digest(lengths);
      if (done.columns.kind === 'ids') reply.ids_digest = digest;
      else if (done.ids !== null) reply.ids_digest = done.ids.digest(lengths);
      reply.hash_ns += stop().ns + done.columnsNs;
      reply.prepare_ns += done.prepareNs;
      reply.ns.push(done.clock.ns);
      reply.cpu_ns.push(done.clock.cpu_ns);
      reply.digest.push(digest);
      if (done.outcome.irregular) reply.irregular.push(repetition);
      this.keptColumns = done.columns;
      Object.assign(reply, {
        ids: (done.ids ?? done.columns).total,
        rejects: done.outcome.status.reduce((sum, one) => sum + Number(one === REJECT), 0),
        errors: done.outcome.errors,
        error_count: done.outcome.errorCount,
        form: done.form,
      });
    }
    return reply;
  }

  /** The output of the last timed call itself. */
  async kept() {
    if (this.keptColumns === null) throw new Error('nothing kept: no `measure` has finished in this host');
    return [{ kind: this.keptColumns.kind }, this.keptColumns.body()];
  }

  /** Ask `op` afresh, outside any measurement. */
  async encode(head, body) {
    const { op = 'encode', threads = this.threads, form = '' } = head;
    const { columns, outcome } = this.once(op, splitDocuments(body), threads, null, form);
    return [{ kind: columns.kind, errors: outcome.errors, error_count: outcome.errorCount }, columns.body()];
  }

  /** Texts of the ids in the body; a document whose status is not 0 keeps it and has no text. */
  async decode(head, body) {
    const adapter = this.ready('decode');
    const { status, rows } = splitIds(body);
    const outcome = new Outcome(status.length);
    outcome.status.set(status);
    const live = Array.from(status.keys()).filter((index) => status[index] === IDS);
    const items = live.map((index) => rows[index]);
    const { rows: texts } = eachCarefully((ids) => adapter.decode(ids), items, live, outcome, this.rejects);
    const columns = buildColumns('texts', spread(texts, live, status.length), outcome);
    return [{ kind: 'texts', errors: outcome.errors, error_count: outcome.errorCount }, columns.body()];
  }

  /** Decisions for the one document in the body: reply body is the JSON object {"decisions": [...]}. */
  async trace(head, body) {
    this.ready('encode');
    if (typeof this.adapter.trace !== 'function') throw new Unsupported("the engine's adapter has no trace");
    const decisions = this.adapter.trace(body);
    return [{ decisions: decisions.length }, [Buffer.from(JSON.stringify({ decisions }))]];
  }
}

const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/**
 * Where to import the adapter from: its own place; or, where the interpreter is that of an environment (bin/node with
 * node_modules beside bin), a copy of it in a folder of this process beside a link to those packages. A module's
 * packages are looked up from where it lies, and nothing else can be told.
 */
function besideItsPackages(adapter) {
  const packages = path.resolve(path.dirname(process.argv0), '..', 'node_modules');
  if (!path.isAbsolute(process.argv0) || !existsSync(packages)) return path.resolve(adapter);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'adapter-'));
  symlinkSync(packages, path.join(folder, 'node_modules'), 'dir');
  const copy = path.join(folder, path.basename(adapter));
  copyFileSync(adapter, copy);
  return copy;
}

// -- frames and bodies ------------------------------------------------------------------------------------------------

/** A little-endian column read from the wire: a copy, since a view would have to be aligned. */
function column(Kind, body, start, count) {
  const first = body.byteOffset + start;
  return new Kind(body.buffer.slice(first, first + count * Kind.BYTES_PER_ELEMENT));
}

const sizeOf = (body) => (body.length >= 8 ? Number(body.readBigUInt64LE()) : Infinity);

/** Documents of a request: u64 n, u64 offsets[n + 1], bytes. */
function splitDocuments(body) {
  const size = sizeOf(body);
  const start = 8 * (size + 2);
  if (body.length < 16 || start > body.length) {
    throw new BadBody(`documents body of ${body.length} bytes cannot hold ${size + 1} offsets`);
  }
  const offsets = Array.from(column(BigUint64Array, body, 8, size + 1), Number);
  const rest = body.subarray(start);
  if (offsets[0] !== 0 || offsets[size] !== rest.length || offsets.some((one, index) => one < offsets[index - 1])) {
    throw new BadBody("document offsets do not rise from 0 to the body's end");
  }
  return Array.from({ length: size }, (_, index) => rest.subarray(offsets[index], offsets[index + 1]));
}

/** Ids of a request: u64 n, u8 status[n], u32 counts[n], u32 ids[sum]. */
function splitIds(body) {
  const size = sizeOf(body);
  if (8 + 5 * size > body.length) throw new BadBody(`ids body of ${body.length} bytes cannot hold what it counts`);
  const counts = column(Uint32Array, body, 8 + size, size);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const room = body.length - 8 - 5 * size;
  if (4 * total !== room) throw new BadBody(`ids body holds ${room} bytes of ids, counts say ${4 * total}`);
  const ids = column(Uint32Array, body, 8 + 5 * size, total);
  let end = 0;
  const rows = Array.from(counts, (count) => Array.from(ids.subarray(end, (end += count))));
  return { status: column(Uint8Array, body, 8, size), rows };
}

/** `size` bytes, or fewer where the stream ends before. */
function readUpTo(stream, size) {
  const data = Buffer.from(new ArrayBuffer(size));
  let have = 0;
  while (have < size) {
    const count = readSync(stream, data, have, size - have, null);
    if (count === 0) break;
    have += count;
  }
  return data.subarray(0, have);
}

function readExactly(stream, size) {
  const data = readUpTo(stream, size);
  if (data.length !== size) throw new BadFrame('stream ended inside a frame');
  return data;
}

/** The next request, or null where the client closed the stream between frames. */
function readFrame(stream) {
  const start = readUpTo(stream, 8);
  if (!start.length) return null;
  if (start.length !== 8 || !start.subarray(0, 4).equals(MAGIC)) {
    throw new BadFrame(`frame does not begin with ${MAGIC}`);
  }
  const size = start.readUInt32LE(4);
  if (size > MAX_HEAD) throw new BadFrame(`head of ${size} bytes; at most ${MAX_HEAD}`);
  let head = null;
  try {
    head = JSON.parse(readExactly(stream, size).toString('utf8'));
  } catch (error) {
    throw new BadFrame(`head is not JSON: ${messageOf(error)}`);
  }
  const length = head?.len ?? 0;
  if (head?.v !== PROTOCOL || !Number.isInteger(length) || length < 0 || length > MAX_BODY) {
    throw new BadFrame(`head with v=${head?.v}, len=${length}`);
  }
  return { head, body: readExactly(stream, length) };
}

function writeAll(stream, data) {
  for (let at = 0; at < data.length;) at += writeSync(stream, data, at, data.length - at, null);
}

/** One reply. */
function writeFrame(stream, head, body) {
  let [text, parts, length] = [head, body, body.reduce((sum, part) => sum + part.length, 0)];
  if (length > MAX_BODY) {
    const error = { type: 'TooLarge', message: `reply of ${length} bytes; at most ${MAX_BODY}` };
    [text, parts, length] = [{ v: PROTOCOL, id: head.id, ok: false, error }, [], 0];
  }
  text = Buffer.from(JSON.stringify({ ...text, len: length }));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  writeAll(stream, Buffer.concat([MAGIC, size, text]));
  for (const part of parts) writeAll(stream, part);
}

/**
 * The protocol's private streams. Descriptor 0 becomes the null device and 1 standard error: nothing that the engine
 * reads or prints touches a frame. Node has no dup: a descriptor is opened again by its name in /dev, and the lowest
 * one that is free is the next to be given.
 */
function takeStreams() {
  const streams = { requests: openSync('/dev/stdin', 'r'), replies: openSync('/dev/stdout', 'w') };
  closeSync(0);
  closeSync(1);
  const taken = [openSync('/dev/null', 'r'), openSync('/dev/stderr', 'a')];
  if (taken[0] !== 0 || taken[1] !== 1) throw new BadFrame(`standard streams became ${taken.join(' and ')}`);
  return streams;
}

/** Answer requests until `quit` or the stream's end. */
async function serve(host, { requests, replies }) {
  for (let frame; (frame = readFrame(requests)) !== null;) {
    const { head, body } = frame;
    const reply = { v: PROTOCOL, id: head.id ?? null, ok: true };
    let [told, out] = [{}, []];
    if (head.verb === 'quit') return writeFrame(replies, reply, out);
    try {
      if (!Host.VERBS.includes(head.verb)) throw new BadBody(`unknown verb ${head.verb}`);
      const result = await host[head.verb](head, body);
      [told, out] = Array.isArray(result) ? result : [result, []];
    } catch (error) {
      if (!(error instanceof Unsupported) && !(error instanceof BadBody)) console.error(error);
      Object.assign(reply, { ok: false, error: { type: kindOf(error), message: messageOf(error) } });
    }
    writeFrame(replies, { ...told, ...reply }, out);
  }
}

async function main(argv) {
  if (argv.length !== 1 || Number.parseInt(process.versions.node, 10) < 20 || os.endianness() !== 'LE') {
    console.error('usage: node host.mjs ADAPTER.mjs (Node 20 or later, a little-endian machine)');
    return 2;
  }
  process.on('SIGINT', () => {}); // Ctrl-C is the client's to handle: it ends its hosts itself
  try {
    await serve(new Host(argv[0]), takeStreams());
    return 0;
  } catch (error) {
    if (!(error instanceof BadFrame) && error?.code !== 'EPIPE') throw error;
    console.error(`host: ${messageOf(error)}`);
    return 3;
  }
}

process.exit(await main(process.argv.slice(2)));
