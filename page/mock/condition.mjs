// Conditions of Equery over the rows of fixtures: enough of them for what the page writes and a few that people type.

const TOKEN = /\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|[<>!]?=|[<>]|[(),]|[\w.:/]+)/gy;
const FIELDS = ['src_addr', 'dst_addr', 'src_port', 'dst_port', 'protocol', 'addr', 'port', 'vlan', 'service', 'conversation', 'node_id', 'total_byte'];
const NAMES = { tcp: 6, udp: 17, icmp: 1 };

/** What is wrong, with the place where. */
export class Wrong extends Error {
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

/** A function of a row, or of its value of a field: `of(row, field)`. */
export function condition(text) {
  const tokens = [];
  const clean = text.replace(/--.*$/gm, (comment) => ' '.repeat(comment.length));
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < clean.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(clean);
    if (!found) throw new Wrong(`expected a condition, but found '${clean.slice(from).trim()[0]}'`, from + 1);
    tokens.push({ text: found[1], at: TOKEN.lastIndex - found[1].length });
  }
  let next = 0;
  const peek = () => tokens[next]?.text;
  const is = (word) => peek()?.toLowerCase() === word && ((next += 1), true);
  const need = (word) => {
    if (!is(word)) throw new Wrong(`expected '${word}', but found ${peek() ? `'${peek()}'` : 'the end'}`, tokens[next]?.at ?? clean.length);
  };
  const all = (one, word) => {
    const parts = [one()];
    while (is(word)) parts.push(one());
    return parts;
  };
  const commas = () => every(all(either, ','));
  const either = () => some(all(both, 'or'));
  const both = () => every(all(negated, 'and'));
  const every = (parts) => (row) => parts.every((part) => part(row));
  const some = (parts) => (row) => parts.some((part) => part(row));
  const negated = () => {
    if (!is('not')) return comparison();
    const part = negated();
    return (row) => !part(row);
  };
  const literal = () => {
    const { text: word = '', at } = tokens[next] ?? { at: clean.length };
    next += 1;
    if (/^['"]/.test(word)) return word.slice(1, -1).replaceAll(word[0] + word[0], word[0]);
    if (word.toLowerCase() in NAMES) return NAMES[word.toLowerCase()];
    if (/^\d+$/.test(word)) return Number(word);
    if (/^[0-9a-f.:]+(\/\d+)?$/i.test(word) && /[.:]/.test(word)) return word;
    throw new Wrong(`'${word}' is neither a field nor defined`, at);
  };
  const fits = (found, wanted) =>
    typeof wanted === 'string' && /^[\d.]+\/24$/.test(wanted) ? String(found).replace(/\.\d+$/, '') === wanted.replace(/\.\d+\/24$/, '') : found === wanted;
  const comparison = () => {
    if (is('(')) {
      const inner = commas();
      need(')');
      return inner;
    }
    const { text: field = 'the end', at } = tokens[next] ?? { at: clean.length };
    if (!FIELDS.includes(field)) throw new Wrong(`'${field}' is neither a field nor defined`, at);
    next += 1;
    const of = (row, test) => (Array.isArray(row[field]) ? row[field].some(test) : test(row[field] ?? null));
    if (is('is')) {
      const isNot = is('not');
      need('null');
      return (row) => of(row, (found) => (found === null) !== isNot);
    }
    if (is('in')) {
      if (!is('(')) {
        const one = literal();
        return (row) => of(row, (found) => fits(found, one));
      }
      const list = all(literal, ',');
      need(')');
      return (row) => of(row, (found) => list.some((one) => fits(found, one)));
    }
    const how = peek();
    if (!/^([<>!]?=|[<>])$/.test(how ?? '')) throw new Wrong(`expected a condition, but '${field}' is a value`, at);
    next += 1;
    const one = literal();
    const tests = { '=': (a) => fits(a, one), '!=': (a) => !fits(a, one), '<': (a) => a < one, '>': (a) => a > one, '<=': (a) => a <= one, '>=': (a) => a >= one };
    return (row) => of(row, tests[how]);
  };
  const whole = commas();
  if (next < tokens.length) throw new Wrong(`expected ';', but found '${peek()}'`, tokens[next].at);
  return whole;
}
