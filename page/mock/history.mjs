// What the stores of two nodes answer: flows whose bytes are known in closed form, so that the sums of windows are those of the whole.
//
// A filter with `vlan = 429` is refused as busy, with `vlan = 3` answered late, with `vlan = 9` answered in part.

import { condition, Wrong } from './condition.mjs';

const IMAGE = '<img src=x onerror=alert(1)>';
/** Seconds that are remembered, and a time without an answer, before now. */
const REMEMBERED = 2 * 86_400;
const GAP = [1500, 1260];
/** A time in which the table was full: figures of some groups have bounds. */
const FULL = [900, 600];

const FLOWS = Array.from({ length: 36 }, (_, at) => {
  const isUdp = at % 5 === 4;
  return {
    src_addr: at % 11 === 10 ? `2001:db8::${at}` : `10.0.0.${1 + ((at * 7) % 13)}`,
    dst_addr: at % 11 === 10 ? '2001:db8:1::1' : `203.0.113.${1 + (at % 6)}`,
    src_port: 50_000 + at * 13,
    dst_port: isUdp ? 53 : [443, 443, 80, 22][at % 4],
    protocol: isUdp ? 17 : 6,
    vlan: at % 4 === 0 ? 12 : null,
    size: Math.round(400_000 / (at + 1) ** 1.2),
  };
});

/** Bytes of a flow from the epoch to a second: grows, in waves. */
const until = ({ size, src_port: seed }, second) => {
  const long = 900 + (seed % 7) * 220;
  return Math.floor(size * second + size * (long / 7) * Math.sin((2 * Math.PI * second) / long + seed));
};
const kept = (from, to, spans) => spans.map(([a, b]) => [Math.max(a, from), Math.min(b, to)]).filter(([a, b]) => a < b);

/** `isOld`: what is remembered ended two hours ago; `isYoung`: it began ten minutes ago. */
export function history({ nodes, isHostile, isEmpty, isOld, isYoung }) {
  const now = () => Math.floor(Date.now() / 1000);
  const began = now();
  const spans = () => (isOld ? [[began - REMEMBERED, began - 7200]] : isYoung ? [[began - 600, now()]] : [[began - REMEMBERED, began - GAP[0]], [began - GAP[1], now()]]);
  const services = { 443: 'https', 80: 'http', 22: 'ssh', 53: isHostile ? `=cmd|'${IMAGE}` : 'domain' };
  const rows = FLOWS.map((flow) => ({
    ...flow,
    service: services[flow.dst_port],
    addr: [flow.src_addr, flow.dst_addr],
    port: [flow.src_port, flow.dst_port],
    conversation: `${flow.dst_addr}:${flow.dst_port} ↔ ${flow.src_addr}:${flow.src_port}${isHostile ? ` ${IMAGE}\u202e` : ''}`,
    'src_addr/24/64': flow.src_addr.replace(/\.\d+$/, '.0/24').replace(/::.*$/, '::/64'),
    'dst_addr/24/64': flow.dst_addr.replace(/\.\d+$/, '.0/24').replace(/::.*$/, '::/64'),
  }));
  // Answers of the flow: the other direction, smaller.
  const both = [...rows, ...rows.map((row) => ({
    ...row, src_addr: row.dst_addr, dst_addr: row.src_addr, src_port: row.dst_port, dst_port: row.src_port, size: Math.ceil(row.size / 40),
    'src_addr/24/64': row['dst_addr/24/64'], 'dst_addr/24/64': row['src_addr/24/64'],
  }))];

  /** What a node counted of a row: behind the first node less, because bytes are lost between them. */
  function counted(row, node, from, to) {
    const sum = (of) => kept(from, to, spans()).reduce((total, [a, b]) => total + of(b) - of(a), 0);
    const bytes = sum((second) => until(row, second));
    const isTcp = row.protocol === 6;
    const isForth = row.size > 0 && row.dst_port < row.src_port;
    const lost = isTcp && isForth ? sum((second) => Math.floor(until(row, second) / 200)) : 0;
    const isFirst = node === nodes[0];
    const loss = (count) => (isTcp ? count : null);
    return {
      total_byte: isFirst ? bytes : bytes - lost, wire_byte: Math.round((isFirst ? bytes : bytes - lost) * 1.02), total_count: Math.ceil(bytes / 700),
      ploss_byte: loss(isFirst ? 0 : lost), retrans_byte: loss(isFirst ? lost : 0), unseen_byte: loss(0),
      rtt_min: isTcp ? (isForth === isFirst ? 24_200_000 : 4_100_000) + (row.src_port % 97) * 1000 : null,
    };
  }

  const ADD = { sum: (a, b) => a + b, min: (a, b) => Math.min(a, b), max: (a, b) => Math.max(a, b), count: (a, b) => a + b };
  const UNITS = { total_byte: 'bytes', wire_byte: 'bytes', ploss_byte: 'bytes', retrans_byte: 'bytes', unseen_byte: 'bytes', total_count: 'packets', rtt_min: 'ns', '*': 'flows' };

  function answer(query, from, to, node) {
    const groups = new Map();
    for (const row of both.filter(query.fits)) {
      const keys = query.fields.reduce((all, field) => all.flatMap((key) => [...new Set([row[field]].flat())].map((value) => [...key, value ?? null])), [[]]);
      const own = (of) => {
        const values = counted(row, of, from, to);
        return query.items.map(({ how, field }) => (how === 'count' ? 1 : (values[field] ?? null)));
      };
      const each = node ? [own(node)] : query.nodes.map(own);
      if (counted(row, nodes[0], from, to).total_byte === 0) continue;
      for (const key of keys) {
        const id = JSON.stringify(key);
        const known = groups.get(id) ?? { key, nodes: each.map(() => query.items.map(({ how }) => (/sum|count/.test(how) ? 0 : null))) };
        known.nodes = known.nodes.map((old, which) => old.map((value, at) => {
          const more = each[which][at];
          return more === null ? value : value === null ? more : ADD[query.items[at].how](value, more);
        }));
        groups.set(id, known);
      }
    }
    const all = [...groups.values()].map(({ key, nodes: each }) => ({
      key,
      values: query.items.map(({ how }, at) => each.map((values) => values[at]).filter((value) => value !== null)
        .reduce((a, b) => (a === null ? b : ADD[query.across === 'max' && /sum|count/.test(how) ? 'max' : how](a, b)), null)),
    }));
    const passing = all.filter(({ values }) => !query.isLossOnly || values[0] > 0).filter(({ key }) => query.having({ ...Object.fromEntries(query.fields.map((field, at) => [field, key[at]])) }));
    passing.sort((a, b) => (b.values[0] ?? -1) - (a.values[0] ?? -1));
    const [listed, rest] = [passing.slice(0, query.limit), passing.slice(query.limit)];
    const isFull = began - FULL[0] < to && began - FULL[1] > from;
    const figure = ({ key }, value) => (isFull && key.length && key[0] === '10.0.0.1' && typeof value === 'number' && value > 100_000 ? { value, lower: value - Math.round(value / 50), upper: value + Math.round(value / 8) } : value);
    const said = listed.map((group) => Object.fromEntries([...query.fields.map((field, at) => [field, group.key[at]]), ...query.items.map(({ name, field }, at) => [name, UNITS[field] === 'bytes' ? figure(group, group.values[at]) : group.values[at]])]));
    const none = !query.fields.length && !listed.length ? [Object.fromEntries(query.items.map(({ name, how }) => [name, /sum|count/.test(how) ? 0 : null]))] : [];
    const sums = query.items.flatMap(({ name, how }, at) => (/sum|count/.test(how) ? [[name, rest.reduce((total, { values }) => total + values[at], 0)]] : []));
    return { rows: [...said, ...none], rest: { groups: rest.length, ...Object.fromEntries(query.fields.length ? sums : []) } };
  }

  function answers(query) {
    const columns = [
      ...query.fields.map((field) => ({ name: field, kind: /addr$/.test(field) ? 'address' : field.includes('/') ? 'prefix' : /port|protocol|vlan/.test(field) ? 'unsigned' : 'text', unit: '' })),
      ...query.items.map(({ name, field }) => ({ name, kind: 'unsigned', unit: UNITS[field] ?? '' })),
    ];
    const time = (second) => new Date(second * 1000).toISOString().replace('Z', '000000Z');
    const partial = query.isPartial ? { status: 'partial', reason: `no answer of ${nodes[1]} (late: it did not answer in 30 s)`, bounds: 'none' } : {};
    const asked = query.isPartial ? query.nodes.filter((node) => node !== nodes[1]) : query.nodes;
    const one = (from, to, node) => {
      const { rows: found, rest } = answer({ ...query, nodes: asked }, from, to, node);
      const isEstimated = found.some((row) => Object.values(row).some((value) => value && typeof value === 'object'));
      return { query: query.name, node, window: { start: time(from), end: time(to) }, status: 'complete', coverage: null, class: 'row', levels: ['rows'], rows: found, rest, bounds: isEstimated ? 'certain' : 'exact', columns, ...partial };
    };
    const watched = kept(query.from, query.to, spans());
    const hull = watched.length ? [watched[0][0], watched.at(-1)[1]] : [query.to, query.to];
    return (query.across ? [null] : asked).flatMap((node) => {
      if (!query.every) return [one(...hull, node)];
      const windows = [];
      for (let start = Math.floor(query.from / query.every) * query.every; start < query.to; start += query.every) {
        const seen = kept(start, start + query.every, spans());
        if (!seen.length) continue;
        const length = seen.reduce((total, [a, b]) => total + b - a, 0);
        const cut = length < query.every && !query.isPartial ? { status: 'cut', watched: { start: time(seen[0][0]), end: time(seen.at(-1)[1]) } } : {};
        windows.push({ ...one(start, start + query.every, node), ...cut });
      }
      return windows;
    });
  }

  /** Names of nodes may have brackets. */
  const NODES = /node_id in \((?:'(?:[^']|'')*'(?:, )?)+\)/g;
  const SECONDS = { s: 1, min: 60, h: 3600, d: 86_400, w: 604_800 };
  function read(text, lineOf) {
    const [, name, items, from, to, where = '', tail = ''] =
      /^\s*(\w+): select ([^\n]+)\n\s+from '([^']+)' to '([^']+)'(?:\n\s+where ([\s\S]+?))?(?:\n\s+((?:groupby|every|across|having|limit)\b[^\n]*(?:\n\s+every [^\n]*)?))?$/.exec(text.trimEnd()) ?? [];
    if (!name) throw Object.assign(new Wrong('the fixture does not understand this text', 0), { line: lineOf(0), column: 1 });
    const fields = /groupby (.+?)(?= having| limit| every| across|$)/.exec(tail)?.[1].split(', ') ?? [];
    const every = /every (\d+)(\w+)/.exec(tail);
    const having = /having (.+?)(?= limit| every| across|$)/.exec(tail)?.[1];
    let fits = () => true;
    if (where) {
      try {
        fits = condition(where.replace(NODES, (found) => `(vlan is null or vlan is not null)`.padEnd(found.length)));
      } catch (wrong) {
        const before = where.slice(0, wrong.at).split('\n');
        throw Object.assign(wrong, { line: lineOf(text.indexOf(where)) + before.length - 1, column: before.at(-1).length + 1 + (before.length === 1 ? '    where '.length : 0) });
      }
    }
    const named = where.match(NODES)?.[0].match(/'(?:[^']|'')*'/g).map((word) => word.slice(1, -1).replaceAll("''", "'"));
    return {
      name, fields, fits, from: Date.parse(from) / 1000, to: Date.parse(to) / 1000, every: every ? Number(every[1]) * SECONDS[every[2]] : 0,
      items: items.split(', ').filter((item) => / as /.test(item)).map((item) => {
        const [, how, field, name] = /^(\w+)\(([\w*]+)\) as (\w+)$/.exec(item);
        return { how, field, name };
      }),
      having: having && !/[>]/.test(having) ? condition(having) : () => true, isLossOnly: Boolean(having && />/.test(having)),
      limit: Number(/limit (\d+)/.exec(tail)?.[1] ?? 10_000), across: /across nodes by (\w+)/.exec(tail)?.[1] ?? null,
      nodes: named ?? nodes, isPartial: /vlan = 9\b/.test(where),
    };
  }

  /** Status, body and the milliseconds after which they come. */
  return (text) => {
    if (/vlan = 429/.test(text)) return [429, { error: 'four questions about history are being answered: ask again' }, 0];
    if (isEmpty) return [200, { answers: [], nodes: nodes.map((name) => ({ name, missing: 'no_store: the probe has no --store' })), warnings: [] }, 0];
    try {
      let at = 0;
      const queries = text.split(/;\s*(?:\n|$)/).filter((one) => one.trim()).map((one) => {
        const begin = text.indexOf(one, at);
        at = begin + one.length;
        const lead = one.length - one.trimStart().length;
        const line = text.slice(0, begin + lead).split('\n').length;
        return read(one.trimStart(), (offset) => line + one.trimStart().slice(0, offset).split('\n').length - 1);
      });
      const isPartial = queries.some((query) => query.isPartial);
      const asked = [...new Set(queries.flatMap((query) => query.nodes))];
      const told = asked.map((name) => ({ name, ...(isPartial && name === nodes[1] ? { missing: 'late: it did not answer in 30 s' } : {}) }));
      return [200, { answers: queries.flatMap(answers), nodes: told, warnings: [] }, /vlan = 3\b/.test(text) ? 3000 : 0];
    } catch (wrong) {
      const { message, line = 1, column = 1 } = wrong;
      return [422, { error: `query:${line}:${column}: error: ${message}`, diagnostics: [{ severity: 'error', message, line, column, help: null }] }, 0];
    }
  };
}
