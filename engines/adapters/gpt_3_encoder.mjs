// gpt-3-encoder: GPT-2's vocabulary, which it brings; text as a string; ids as an array.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { decode, encode } from 'gpt-3-encoder';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Two functions; nothing is loaded but what comes with the package. */
export class Adapter {
  name = 'gpt-3-encoder';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    return JSON.parse(readFileSync(new URL('node_modules/gpt-3-encoder/package.json', import.meta.url))).version;
  }

  load(contract, files, threads, options) {
    if (contract.normalizer !== 'none' || contract.add_prefix_space || contract.added_tokens.length) {
      throw new Unsupported('gpt-3-encoder has no normalizer, no prefix space and no added tokens');
    }
    const ranks = readFileSync(files.tiktoken ?? files.source);
    if (!(createHash('sha256').update(ranks).digest('hex') in options.names)) {
      throw new Unsupported('gpt-3-encoder brings the vocabulary of GPT-2 and loads no other');
    }
    this.whole = this.documents_list = encode;
  }

  prepare(document) {
    return utf8.decode(document);
  }

  encode(item) {
    return encode(item);
  }

  decode(ids) {
    return Buffer.from(decode(ids));
  }
}
