// Why traffic changed, out of what the stores of the fixture answer: all groups of both periods, side by side.

const FIELDS = {
  conversation: ['src_addr', 'dst_addr'], source: ['src_addr'], destination: ['dst_addr'], source_network: ['src_addr/24/64'], destination_network: ['dst_addr/24/64'],
  port: ['protocol', 'dst_port'], protocol: ['protocol'],
};
const SUMS = { bits: ['sum(total_byte)', 8], packets: ['sum(total_count)', 1], flows: ['count(*)', 1] };

/** Status, body and the milliseconds after which they come. `remembered`: what `POST /history` answers to a text. */
export function change(parameters, text, remembered) {
  const ask = (name) => parameters.get(name) ?? '';
  const [sum, unit] = SUMS[ask('measure') || 'bits'] ?? [];
  const periods = { before: [ask('before_from'), ask('before_to')], after: [ask('from'), ask('to')] };
  const wrong = Object.values(periods).some(([from, to]) => !(Date.parse(from) < Date.parse(to)));
  if (!sum || wrong) return [400, { error: sum ? 'from: it is not before the end of its period' : `measure: "${ask('measure')}" is neither bits, packets nor flows` }, 0];
  const query = (name, fields, [from, to]) => [
    `${name}: select ${[...fields, `${sum} as value`].join(', ')}`, `    from '${from}' to '${to}'`, ...(text ? [`    where ${text}`] : []), ...(fields.length ? [`    groupby ${fields.join(', ')} limit 10000`] : []),
  ].join('\n') + ';\n';
  const names = Object.keys(FIELDS);
  const texts = Object.entries(periods).flatMap(([side, period]) => [query(`all_${side}`, [], period), ...names.map((name) => query(`${name}_${side}`, FIELDS[name], period))]);
  const [status, body, after] = remembered(texts.join('\n'));
  if (status === 422) return [400, { error: `condition: ${body.error}` }, 0];
  if (status !== 200) return [status, body, after];
  const length = (side) => (Date.parse(periods[side][1]) - Date.parse(periods[side][0])) / 1000;
  const isRate = length('before') !== length('after');
  const wanted = ask('nodes') ? ask('nodes').split(',') : null;
  const answersOf = (name, side) => body.answers.filter(({ query, node }) => query === `${name}_${side}` && (!wanted || wanted.includes(node)));
  const value = (of) => (of && typeof of === 'object' ? of.value : (of ?? 0));
  const isKnown = (answer) => answer.window.start !== answer.window.end;
  const sides = Object.fromEntries(Object.entries(periods).map(([side, [from, to]]) => {
    const own = answersOf('all', side).filter(isKnown);
    const watched = own.length ? own[0].window : null;
    const unseen = watched ? length(side) - (Date.parse(watched.end) - Date.parse(watched.start)) / 1000 : 0;
    const reasons = [...new Set(own.flatMap(({ reason }) => (reason ? [reason] : [])))];
    if (unseen > length(side) / 20) reasons.push('a part of the period is not remembered');
    const time = (at) => new Date(at).toISOString().replace('Z', '000000Z');
    return [side, {
      start: time(from), end: time(to), total: own.length ? unit * own.reduce((total, { rows }) => total + value(rows[0].value), 0) : null,
      status: !own.length ? 'not_known' : reasons.length ? 'partial' : 'complete', watched, missing: [], reasons,
    }];
  }));
  const { before, after: later } = sides;
  const difference = (one, other) => (isRate ? other / length('after') - one / length('before') : other - one);
  const isAsked = before.total !== null && later.total !== null;
  const whole = isAsked ? difference(before.total, later.total) : null;
  const share = (of) => (whole ? of / whole : null);
  const listed = (field, by, groups) => {
    const changed = groups.map((group) => ({ ...group, difference: difference(group.before, group.after) })).filter(({ difference }) => difference !== 0);
    changed.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
    const shown = changed.slice(0, Number(ask('top') || 5)).map((group) => ({ ...group, share: share(group.difference) }));
    const rest = { before: before.total - shown.reduce((sum, one) => sum + one.before, 0), after: later.total - shown.reduce((sum, one) => sum + one.after, 0) };
    const more = difference(rest.before, rest.after);
    return { field, by, groups: shown, rest: { ...rest, difference: more, share: share(more) }, is_certain: true, most_unlisted: Math.abs(changed[shown.length]?.difference ?? 0), reasons: [] };
  };
  const literal = (field, of) => (of === null ? `${field.split('/')[0]} is null` : field.includes('/') ? `${field.split('/')[0]} in ${of}` : `${field} = ${of}`);
  const grouped = (name) => {
    const groups = new Map();
    for (const side of ['before', 'after']) {
      for (const row of answersOf(name, side).flatMap(({ rows }) => rows)) {
        const key = Object.fromEntries(FIELDS[name].map((field) => [field, row[field]]));
        const id = JSON.stringify(key);
        const known = groups.get(id) ?? { key, condition: FIELDS[name].map((field) => literal(field, row[field])).join(' and '), before: 0, after: 0 };
        groups.set(id, { ...known, [side]: known[side] + unit * value(row.value) });
      }
    }
    return listed(name, FIELDS[name], [...groups.values()]);
  };
  const ofNodes = () => listed('node', ['node_id'], [...new Set(body.answers.map(({ node }) => node))].map((node) => {
    const sum = (side) => unit * answersOf('all', side).filter((answer) => answer.node === node).reduce((total, { rows }) => total + value(rows[0].value), 0);
    return { key: { node_id: node }, condition: `node_id = '${String(node).replaceAll("'", "''")}'`, before: sum('before'), after: sum('after') };
  }));
  const kind = [before.status, later.status].includes('not_known') ? 'not_known' : before.status === 'partial' ? (later.status === 'partial' ? 'of_what_was_seen' : 'at_most') : later.status === 'partial' ? 'at_least' : 'exact';
  return [200, {
    measure: ask('measure') || 'bits', compared: isRate ? 'rates' : 'sums', before, after: later, difference: whole, difference_is: kind,
    fields: isAsked ? [...names.map(grouped), ofNodes()] : [], unanswered: [], of_node: null, nodes: body.nodes, warnings: [],
  }, after];
}
