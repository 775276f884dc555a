// tiktoken of npm, WebAssembly: a rank file, a pattern and special tokens; text as a string; ids as a Uint32Array.

import { readFileSync } from 'node:fs';

import { Tiktoken } from 'tiktoken';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The constructor that takes any ranks, with the contract's own pattern: its regular expressions are Rust's. */
export class Adapter {
  name = 'tiktoken-wasm';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    return JSON.parse(readFileSync(new URL('node_modules/tiktoken/package.json', import.meta.url))).version;
  }

  load(contract, files) {
    if (contract.normalizer !== 'none' || contract.add_prefix_space || contract.added_tokens.length) {
      throw new Unsupported('tiktoken has no normalizer, no prefix space and no added tokens');
    }
    if (contract.pretokenizer.length !== 1) throw new Unsupported('tiktoken takes exactly one pattern');
    const special = Object.fromEntries(contract.special_tokens);
    this.tokenizer = new Tiktoken(readFileSync(files.tiktoken, 'latin1'), special, contract.pretokenizer[0]);
    const encode = contract.specials === 'on'
      ? (item) => this.tokenizer.encode(item, 'all', [])
      : this.tokenizer.encode_ordinary.bind(this.tokenizer);
    this.encode = this.whole = encode;
  }

  prepare(document) {
    return utf8.decode(document);
  }

  encode() {
    throw new Error('nothing loaded');
  }

  documents_list(item) {
    return Array.from(this.encode(item));
  }

  decode(ids) {
    return this.tokenizer.decode(ids);
  }
}
