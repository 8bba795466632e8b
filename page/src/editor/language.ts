// Equery as an editor colours it: by its words. What is right or wrong is the checker's to say.

import { StreamLanguage, type StreamParser } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import type { Words } from './words';

const NUMBER = /^\d[\w.µ]*%?(?::[\w:.]+)?(?:\/\d+)?/;
const ADDRESS = /^(?:[\da-f]{0,4}:){2,}[\da-f.:]*(?:\/\d+)?/i;
const WORD = /^[a-z_]\w*(?:\.\d+)?/i;

const TAGS = {
  function: tags.function(tags.name),
  label: tags.labelName,
  field: tags.propertyName,
  name: tags.variableName,
};

export function equery(words: Words): StreamLanguage<unknown> {
  const set = (names: string[]) => new Set(names.map((name) => name.toLowerCase()));
  const keywords = set(words.keywords.map(({ word }) => word));
  const functions = set(words.functions.map(({ word }) => word));
  const fields = set(words.fields.map(({ name }) => name));
  const parser: StreamParser<unknown> = {
    name: 'equery',
    token(stream) {
      if (stream.eatSpace()) return null;
      if (stream.match('--') || stream.match('#')) {
        stream.skipToEnd();
        return 'comment';
      }
      const quote = stream.match(/^["']/) as RegExpMatchArray | null;
      if (quote) {
        while (!stream.eol() && stream.next() !== quote[0]);
        return 'string';
      }
      if (stream.match(ADDRESS) || stream.match(NUMBER)) return 'number';
      const word = (stream.match(WORD) as RegExpMatchArray | null)?.[0].toLowerCase();
      if (word === undefined) {
        stream.next();
        return null;
      }
      if (functions.has(word) && stream.match(/^\s*\(/, false)) return 'function';
      if (stream.match(/^\s*:/, false)) return 'label';
      if (keywords.has(word)) return 'keyword';
      return fields.has(word) ? 'field' : 'name';
    },
    languageData: { commentTokens: { line: '--' }, closeBrackets: { brackets: ['(', '"', "'"] } },
    tokenTable: TAGS,
  };
  return StreamLanguage.define(parser);
}
