// @lenml/tokenizers: a tokenizer.json; text as a string; ids as an array.

import { readFileSync } from 'node:fs';

import { TokenizerLoader } from '@lenml/tokenizers';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The loader that takes parsed files, with a configuration in which nothing is cleaned up. */
export class Adapter {
  name = 'lenml-tokenizers';
  operations = ['encode', 'decode'];
  entries = ['whole', 'documents_list'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];

  version() {
    return JSON.parse(readFileSync(new URL('node_modules/@lenml/tokenizers/package.json', import.meta.url))).version;
  }

  load(contract, files) {
    const file = files['tokenizer.json'] ?? files.source;
    if (!file.endsWith('.json')) {
      throw new Unsupported('@lenml/tokenizers needs a tokenizer.json, and none can be derived from this vocabulary');
    }
    const tokenizerJSON = JSON.parse(readFileSync(file, 'utf8'));
    const tokenizerConfig = { tokenizer_class: 'PreTrainedTokenizer', clean_up_tokenization_spaces: false };
    this.tokenizer = TokenizerLoader.fromPreTrained({ tokenizerJSON, tokenizerConfig });
    this.whole = this.documents_list = this.encode;
  }

  prepare(document) {
    return utf8.decode(document);
  }

  encode(item) {
    return this.tokenizer.encode(item, { add_special_tokens: false });
  }

  decode(ids) {
    return Buffer.from(this.tokenizer.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false }));
  }
}
