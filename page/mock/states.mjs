// Each way in which a figure may not be whole: a node, a query and its history for each.

const SECOND = 1e9;
const COLUMNS = [{ name: 'bytes', kind: 'unsigned', unit: 'bytes' }, { name: 'sources', kind: 'estimate', unit: '' }];
const KEYED = [{ name: 'dst_addr', kind: 'address', unit: '' }, COLUMNS[0]];
const PAST = 90;
/** Keys whose conditions are not idle. */
const KEYS = 70_000;
const LISTED = 50;

const time = (second) => new Date(second * 1000).toISOString().replace('.000Z', '.000000000Z');
const window = (end) => ({ start: time(end - 1), end: time(end) });
const FIGURES = [{ bytes: 1000, sources: 7 }];

/** What each query's answers are like; the newest is shown in tables, all in charts. */
const LOOKS = {
  complete: () => ({ rows: FIGURES }),
  empty: () => ({ rows: [], bounds: 'exact' }),
  partial: () => ({ rows: FIGURES, status: 'partial', reason: '3 rows were refused', coverage: 0.982 }),
  cut: (end) => ({ rows: FIGURES, status: 'cut', watched: { start: time(end - 1), end: time(end - 0.5).replace('.500Z', '.500000000Z') } }),
  late: () => ({ rows: FIGURES, late: true, revision: 2 }),
  unknown: () => ({ rows: [{ bytes: null, sources: null }], coverage: null }),
  bounded: () => ({ rows: [{ bytes: 1000, sources: { value: 7, lower: 5, upper: 9 } }], bounds: 'each with a probability of 0.950' }),
  // The last ten windows did not come.
  missing: (end, last) => (end > last - 10 || end === last - 40 ? null : { rows: FIGURES }),
};

export function states({ tell }) {
  const began = Math.floor(Date.now() / 1000);
  let now = began;
  const answers = [];
  const enter = (end) => Object.entries(LOOKS).flatMap(([query, look]) => {
    const more = look(end, began);
    return more === null ? [] : [{
      query, node: 'up', window: window(end), status: 'complete', coverage: 1, class: 'row', rest: { groups: 0 }, bounds: 'exact',
      columns: COLUMNS, ...more,
    }];
  });
  for (let end = began - PAST; end <= began; end += 1) answers.push(...enter(end));
  const many = {
    query: 'many', node: 'up', window: window(began), status: 'complete', coverage: 1, class: 'row', rest: { groups: 999_000, bytes: 12_345 }, bounds: 'exact', columns: KEYED,
    rows: Array.from({ length: 1000 }, (_, at) => ({ dst_addr: `10.0.${at >> 8}.${at & 255}`, bytes: 2_000_000 - at })),
  };
  answers.push(many);

  const node = (name, state, more = {}) => ({
    name, state, seen: time(now), coverage: 1, window: window(now), packets: { received: 1000, measured: 998, not_measured: { arp: 2 } }, loss: {},
    last: { packets: { received: 100, measured: 100, not_measured: {} }, loss: {} }, spool: { messages: 0, bytes: 0, shortened: 0, dropped: 0, unwritten: 0, fault: null }, store: null,
    clock: { synchronised: true, max_error_ns: 900_000, ahead_s: 0 }, load: { busy: 0.1, flows: 12, most_flows: 100_000 },
    tasks: { wanted: 4, applied: 4, refused: null, lapsed: 0 }, version: '0.1.0', sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {}, ...more,
  });
  const nodes = () => [
    node('up', 'up'),
    node('partial', 'up', { coverage: 0.75, loss: { imissed: 250 } }),
    node('late', 'late', { window: window(now - 30), spool: { messages: 31, bytes: 90_000, shortened: 2, dropped: 0, unwritten: 0, fault: null }, gaps: [{ start: time(now - 40), end: time(now - 39), reason: 'too_late' }] }),
    node('unknown', 'up', { coverage: null, loss: null, clock: { synchronised: null, max_error_ns: null, ahead_s: null }, load: null, last: null, tasks: { wanted: 4, applied: 3, refused: null, lapsed: 0 } }),
    node('unaccounted', 'up', { packets: { received: 1000, measured: 990, not_measured: { arp: 2 } } }),
    node('down', 'down', { seen: time(now - 400), window: window(now - 400) }),
    node('never', 'never', { seen: null, coverage: null, window: null, loss: null, packets: { received: 0, measured: 0, not_measured: {} }, last: null, load: null, clock: null, tasks: { wanted: 4, applied: null, refused: null, lapsed: 0 }, version: null }),
  ];
  const status = () => ({
    mode: 'controller', version: '0.1.0', now: time(now), started: time(began - PAST), ended: false, sources: [], span: null, history: true, broker: { state: 'connected', since: time(began - PAST), reason: null },
    nodes: nodes(), refused: {}, refused_requests: {}, faults: [], least_coverage: 0.999, alertmanagers: [], windows: { complete: 640, partial: 90, late: 91, lost: 11, missing: 11, doubled: 0 }, notes: [],
  });
  const query = (name, more = {}) => ({
    name, text: `${name}: select sum(total_byte) as bytes, count(src_addr) as sources every 1s;`, definitions: [], file: 'states.eq', class: 'row', nodes: ['up'], every_ns: SECOND, over_ns: SECOND,
    columns: COLUMNS, state: 'standing', runs: [], trigger: null, latest: answers.filter((one) => one.query === name).slice(-1), ...more,
  });
  const edge = (phase, keys, more = {}) => ({ node: 'up', phase, keys, since: null, until: null, event: null, ...more });
  const trigger = (edges, keys = []) => ({
    parent: 'many', condition: 'many.bytes > 1000', for_ns: 0, run_ns: 0, cooldown_ns: 0, until: null, thresholds: [{ column: 'bytes', comparison: '>', value: 1000 }], edges, keys,
  });
  const keys = () => Array.from({ length: LISTED }, (_, at) => ({
    node: 'up', key: { dst_addr: `10.0.0.${at}` }, columns: [KEYED[0]], phase: at < 48 ? 'active' : at === 48 ? 'pending' : 'recovering',
    since: at < 49 ? time(began - at) : null, until: at === 49 ? time(began + 60) : null, event: at < 48 ? `e${at}` : null,
  }));
  const waiting = (name, edges, keys) => query(name, { columns: KEYED, state: 'waiting', trigger: trigger(edges, keys), latest: [], text: `${name}: select dst_addr, sum(total_byte) as bytes groupby dst_addr every 1s when many.bytes > 1000;` });
  const queries = () => [
    ...Object.keys(LOOKS).map((name) => query(name)),
    query('many', { columns: KEYED, text: 'many: select dst_addr, sum(total_byte) as bytes groupby dst_addr limit 1000000 every 1s;', latest: [many] }),
    waiting('fires', [edge('active', KEYS - 2, { since: time(began) }), edge('pending', 1, { since: time(began - 48) }), edge('recovering', 1, { until: time(began + 60) })], keys()),
    waiting('armed', [edge('idle', 12)]),
    waiting('blind', [edge('no_data', 3)]),
  ];
  setInterval(() => {
    now += 1;
    tell('status', status());
  }, 1000);
  const fixed = () => [409, { error: 'this fixture is fixed' }];
  return { answers, events: [], stories: [], status, queries, install: fixed, remove: fixed };
}
