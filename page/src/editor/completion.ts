// What may stand where the cursor is, with what it means.

import { snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import type { QueryItems, Word } from '../api/types';
import { quoted, type Words } from './words';

const NODE = /\bnode_id\s*(?:=|!=|(?:not\s+)?in\s*\(?(?:[^();]*,)?)\s*("?[\w-]*)$/i;
const USING = /\busing\s+(\w*)$/i;
const ITEM = /\b([a-z_]\w*)\.("?\w*)$/i;
const NAME = /[a-z_]\w*$/i;
const VARIABLE = /\blet\s+([a-z_]\w*)/gi;
const LABEL = /(?:^|;)\s*([a-z_]\w*)\s*:/gi;
/** As much of a line as tells what is being written. */
const BEFORE = 400;

export const completion = (words: () => Words) => (context: CompletionContext): CompletionResult | null => {
  const before = context.state.sliceDoc(Math.max(0, context.pos - BEFORE), context.pos);
  const from = (text: string) => context.pos - text.length;
  if (/(?:--|#)[^\n]*$/.test(before)) return null;
  const known = words();
  const node = NODE.exec(before);
  if (node) return { from: from(node[1]), options: known.nodes.map((name) => ({ label: quoted(name), type: 'constant', detail: 'node' })) };
  const using = USING.exec(before);
  if (using) return { from: from(using[1]), options: known.structures.map((label) => ({ label, type: 'class', detail: 'structure' })) };
  const item = ITEM.exec(before);
  if (item) return { from: from(item[2]), options: itemsOf(item[1], known) };
  const name = NAME.exec(before)?.[0] ?? '';
  if (name === '' && !context.explicit) return null;
  return { from: from(name), options: all(known, context.state.doc.toString()), validFor: /^\w*$/ };
};

/** Later queries of a name win: those of the text. */
const queries = (known: Words) => [...new Map([...known.queries, ...known.own].map((query) => [query.name, query])).values()];

function itemsOf(name: string, known: Words): Completion[] {
  const query = queries(known).find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (!query) return [];
  const keys = query.keys.map((key) => ({ label: key, type: 'property', detail: 'key' }));
  const columns = query.columns.map((column) => ({ label: quoted(column), type: 'property', detail: 'column' }));
  return [...new Map([...keys, ...columns].map((one) => [one.label, one])).values()];
}

function all(known: Words, text: string): Completion[] {
  const found = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map((match) => match[1]))];
  const stand = queries(known);
  const names = [...stand, ...found(LABEL).filter((name) => !stand.some((query) => query.name === name)).map(plain)];
  return [
    ...known.keywords.map((word) => ({ label: word.word, type: 'keyword', info: described(word), boost: 1 })),
    ...known.functions.map((word) => snippetCompletion(`${word.word}(\${})`, { label: word.word, displayLabel: `${word.word}(…)`, type: 'function', info: described(word) })),
    ...known.fields.map(({ name, type, unit, meaning, nullable }) => ({
      label: name, type: 'property', detail: [type, unit].filter(Boolean).join(', '), info: `${meaning}${nullable ? '\nmay be null' : ''}`, boost: 2,
    })),
    ...names.map((query) => ({ label: query.name, type: 'variable', detail: 'query', info: `has ${[...query.keys, ...query.columns].join(', ')}` })),
    ...[...known.variables, ...found(VARIABLE)].map((label) => ({ label, type: 'constant', detail: 'variable' })),
  ];
}

const plain = (name: string): QueryItems => ({ name, columns: [], keys: [] });
const described = ({ usage, meaning }: Word) => `${usage}\n${meaning}`;
