// @huggingface/tokenizers: a tokenizer.json; text as a string; ids as an array.

import { readFileSync } from 'node:fs';

import { Tokenizer } from '@huggingface/tokenizers';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** No configuration beside the tokenizer.json: nothing is cleaned up, and no special token is added. */
export class Adapter {
  name = 'tokenizers-js';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    const file = new URL('node_modules/@huggingface/tokenizers/package.json', import.meta.url);
    return JSON.parse(readFileSync(file)).version;
  }

  load(contract, files) {
    const file = files['tokenizer.json'] ?? files.source;
    if (!file.endsWith('.json')) {
      throw new Unsupported('it needs a tokenizer.json, and none can be derived from this vocabulary');
    }
    this.tokenizer = new Tokenizer(JSON.parse(readFileSync(file, 'utf8')), {});
    this.whole = this.documents_list = this.encode;
  }

  prepare(document) {
    return utf8.decode(document);
  }

  encode(item) {
    return this.tokenizer.encode(item, { add_special_tokens: false }).ids;
  }

  decode(ids) {
    return Buffer.from(this.tokenizer.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false }));
  }
}
