// A few words of Equery, and a checker that knows them alone.

const word = (word, usage, meaning) => ({ word, usage, meaning });
const field = (name, type, unit, meaning) => ({ name, type, unit, nullable: false, meaning });

const KEYWORDS = [
  word('select', 'select VALUE [as NAME], …', 'the columns of the answer'),
  word('where', 'where CONDITION', 'only rows that pass'),
  word('groupby', 'groupby FIELD[/PREFIX], …', 'a row of the answer for each value of these fields'),
  word('limit', 'limit NUMBER', 'so many rows at most; the others are counted in the rest'),
  word('every', 'every DURATION', 'how often there is an answer'),
  word('when', 'when [each] CONDITION', 'starts the query when answers of others fulfil this'),
  word('as', 'VALUE as NAME', 'the name of a column'),
];
const FUNCTIONS = [word('count', 'count(*), count(FIELD) or count(distinct FIELD)', 'flows, or the values of a field'), word('sum', 'sum(VALUE)', 'the sum')];
const FIELDS = [
  field('src_addr', 'address', '', 'source address'), field('dst_addr', 'address', '', 'destination address'),
  field('total_byte', 'number', 'bytes', 'layer-3 bytes'), field('node_id', 'text', '', 'name of the observation point'),
];

export function language(played) {
  const queries = played.queries().map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name), keys: [] }));
  const nodes = played.status().nodes.map(({ name }) => name);
  return { keywords: KEYWORDS, functions: FUNCTIONS, fields: FIELDS, structures: ['exact', 'space_saving'], nodes, queries, variables: [] };
}

/** Words that mean nothing are errors, unless queries that stand have them; all else is right. */
export function checked(text, file, played) {
  const known = new Set([...KEYWORDS, ...FUNCTIONS].map(({ word }) => word).concat(FIELDS.map(({ name }) => name)));
  const names = [...text.matchAll(/([a-z_]\w*)\s*:/gi)].map((match) => match[1]);
  const standing = played.queries().flatMap(({ definitions, text }) => [...definitions, text].join(' ').match(/[a-z_]\w*/gi) ?? []);
  const own = new Set([...names, ...standing, ...played.queries().map(({ name }) => name), ...[...text.matchAll(/\bas\s+(\w+)/gi)].map((match) => match[1])]);
  const diagnostics = [...text.matchAll(/(?<![\w.])[a-z_]\w*/gi)].filter(([name]) => !known.has(name.toLowerCase()) && !own.has(name)).map((match) => {
    const before = text.slice(0, match.index);
    const start = Buffer.byteLength(before);
    return {
      severity: 'error', code: 'undefined_name', span: { start, end: start + match[0].length }, line: before.split('\n').length,
      column: match.index - before.lastIndexOf('\n'), message: `'${match[0]}' is neither a field nor defined`, help: `'let ${match[0]} = VALUE;' or --set ${match[0]}=VALUE defines it`,
    };
  });
  const texts = text.split(';').map((one) => one.trim()).filter(Boolean);
  const labels = texts.map((one, at) => /^([a-z_]\w*)\s*:/i.exec(one)?.[1] ?? `q${at + 1}`);
  const taken = labels.filter((name) => played.queries().some((query) => query.name === name));
  const explained = texts.map((one, at) => ({
    query: labels[at], text: `${one};`, class: 'row', reasons: ['every field is in the rows of windows'], nodes: 'every node', probe: ['group by dst_addr'],
    above: ['limit: 10 groups'], window: '1s', memory_bytes: 128000160, exactness: ['all else: exact'], reaction_ns: /\bwhen\b/.test(one) ? 4e9 : null,
    sql: [{ step: 'filter rows', name: null, sql: 'SELECT *\nFROM rows' }], not_run: [],
  }));
  const hasErrors = diagnostics.length > 0;
  return {
    file, diagnostics, queries: hasErrors ? [] : labels.map((name) => ({ name, columns: ['sources'], keys: ['dst_addr'] })),
    refused: hasErrors ? [] : taken.map((name) => `the name ${name} is taken; give the query another one`),
    explanation: hasErrors ? null : { queries: explained, graph: '' }, unexplained: 0,
  };
}
