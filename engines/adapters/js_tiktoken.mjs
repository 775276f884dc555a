// js-tiktoken: ranks and a pattern in the package's own form; text as a string; ids as an array.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { Tiktoken } from 'js-tiktoken/lite';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * For the encodings it brings (the roster's `names` has each by the SHA-256 of tiktoken's rank file) its own ranks and
 * its own form of the pattern, as its documentation says. For others ranks from the file, under the contract's pattern
 * where JavaScript can compile it.
 */
export class Adapter {
  name = 'js-tiktoken';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    return JSON.parse(readFileSync(new URL('node_modules/js-tiktoken/package.json', import.meta.url))).version;
  }

  async load(contract, files, threads, options) {
    if (contract.normalizer !== 'none' || contract.add_prefix_space || contract.added_tokens.length) {
      throw new Unsupported('js-tiktoken has no normalizer, no prefix space and no added tokens');
    }
    const data = readFileSync(files.tiktoken);
    const known = options.names[createHash('sha256').update(data).digest('hex')];
    const ranks = known ? (await import(`js-tiktoken/ranks/${known}`)).default : this.ranks(data, contract);
    this.tokenizer = new Tiktoken({ ...ranks, special_tokens: Object.fromEntries(contract.special_tokens) });
    this.special = contract.specials === 'on' ? 'all' : [];
    this.whole = this.documents_list = this.encode;
  }

  ranks(data, { pretokenizer }) {
    try {
      new RegExp(pretokenizer[0], 'ug');
    } catch (error) {
      throw new Unsupported(`JavaScript cannot compile the pattern: ${error.message}`);
    }
    if (pretokenizer.length !== 1) throw new Unsupported('js-tiktoken takes exactly one pattern');
    const rows = data.toString('latin1').split('\n').filter(Boolean).map((line) => line.split(' '));
    return { pat_str: pretokenizer[0], bpe_ranks: rows.map(([token, rank]) => `! ${rank} ${token}`).join('\n') };
  }

  prepare(document) {
    return utf8.decode(document);
  }

  encode(item) {
    return this.tokenizer.encode(item, this.special, []);
  }

  decode(ids) {
    return Buffer.from(this.tokenizer.decode(ids));
  }
}
