// ai-tokenizer: the encodings that it brings; text as a string; ids as an array.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { Tokenizer } from 'ai-tokenizer';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * One module an encoding, with its ranks and pattern, as its documentation says; the roster's `names` has each by the
 * SHA-256 of tiktoken's rank file. It loads no others.
 */
export class Adapter {
  name = 'ai-tokenizer';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    return JSON.parse(readFileSync(new URL('node_modules/ai-tokenizer/package.json', import.meta.url))).version;
  }

  async load(contract, files, threads, options) {
    if (contract.normalizer !== 'none' || contract.add_prefix_space || contract.added_tokens.length) {
      throw new Unsupported('ai-tokenizer has no normalizer, no prefix space and no added tokens');
    }
    const ranks = readFileSync(files.tiktoken ?? files.source);
    const known = options.names[createHash('sha256').update(ranks).digest('hex')];
    if (!known) {
      throw new Unsupported(`ai-tokenizer brings ${Object.values(options.names).join(', ')} and loads no others`);
    }
    const encoding = await import(`ai-tokenizer/encoding/${known}`);
    const special_tokens = Object.fromEntries(contract.special_tokens);
    this.tokenizer = new Tokenizer({ ...encoding, special_tokens });
    // By name: under 'all' it takes them for text.
    this.special = contract.specials === 'on' ? Object.keys(special_tokens) : [];
    this.whole = this.documents_list = this.encode;
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
