// speedy.py in JavaScript: the id of a byte is its value, and `options.fault` names the fault.

/** An array that is filled when somebody first looks. */
class Later extends Array {}

export class Adapter {
  name = 'speedy';
  operations = ['encode', 'encode_batch'];
  entries = ['whole', 'documents_list', 'batch_flat', 'batch_list'];

  version() {
    return '1.0';
  }

  load(contract, files, threads, options) {
    this.fault = options.fault ?? 'none';
  }

  prepare(document) {
    return document;
  }

  encode(item) {
    return Uint32Array.from(item);
  }

  encode_batch(items) {
    return items.map((item) => this.encode(item));
  }

  whole(item) {
    if (this.fault in LAZY) return LAZY[this.fault](item);
    return this.encode(item);
  }

  documents_list(item) {
    if (this.fault === 'no-list') return this.encode(item);
    return this.fault in LAZY ? LAZY[this.fault](item) : Array.from(item);
  }

  batch_flat(items) {
    let ids = Uint32Array.from(items.flatMap((item) => [...item]));
    const edges = [0];
    for (const item of items) edges.push(edges.at(-1) + item.length);
    if (this.fault === 'few-offsets') edges.pop();
    if (this.fault === 'falling-offsets' && edges.length > 3) edges[2] = edges[3] + 1;
    if (this.fault === 'wrong-border' && edges.length > 1) edges[1] -= 1;
    if (this.fault === 'window') {
      ids = Uint32Array.of(7, ...ids, 9);
      edges.forEach((edge, index) => { edges[index] = edge + 1; });
    }
    return { ids, offsets: BigUint64Array.from(edges, BigInt) };
  }

  batch_list(items) {
    if (this.fault === 'no-list') return Object.freeze(items.map((item) => new Later(...item)));
    return items.map((item) => Array.from(item));
  }
}

// Every way to put the work off that the language offers, and memory that another thread may still write into.
const LAZY = {
  'later-list': (item) => new Later(...item),
  'later-buffer': (item) => {
    const shared = new Uint32Array(new SharedArrayBuffer(4 * item.length));
    shared.set(item);
    return shared;
  },
  generator: (item) => item.values(),
  promise: async (item) => Array.from(item),
  proxy: (item) => new Proxy(Array.from(item), {}),
  getters: (item) => item.reduce((row, byte, index) => Object.defineProperty(row, index, { get: () => byte }), []),
  holes: (item) => {
    item.forEach((byte, index) => {
      const set = function (value) {
        Object.defineProperty(this, index, { value, writable: true, enumerable: true, configurable: true });
      };
      Object.defineProperty(Array.prototype, index, { get: () => byte, set, configurable: true });
    });
    return new Array(item.length);
  },
};
