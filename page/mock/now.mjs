// What `GET /now` and `GET /unusual` answer: flows whose bytes are known in each step, so that rows, others and all add up.

const MINUTE = 60;
const NS = 1e9;

/** From, to, port, protocol, and megabits per second: of a step. */
const FLOWS = [
  ['192.0.2.12', '203.0.113.40', 22, 6, (at, steps) => (at < steps * 0.55 ? 1 : 127 + 6 * Math.sin(at / 3))],
  ['198.51.100.8', '192.0.2.30', 443, 6, (at) => 52 + 5 * Math.sin(at / 4)],
  ['203.0.113.5', '192.0.2.31', 443, 17, (at) => 33 + 4 * Math.sin(at / 5 + 1)],
  ['192.0.2.30', '198.51.100.201', 443, 6, (at) => 27 + 3 * Math.sin(at / 3 + 2)],
  ['198.51.100.23', '192.0.2.44', 443, 17, (at) => 20 + 3 * Math.sin(at / 6)],
  ['192.0.2.20', '203.0.113.77', 5432, 6, (at) => 17 + 2 * Math.sin(at / 8)],
  ['2001:db8:40::17', '2001:db8:1::30', 443, 6, (at) => 15 + 2 * Math.sin(at / 7)],
  ['198.51.100.150', '192.0.2.30', 80, 6, (at) => 12 + 2 * Math.sin(at / 2)],
  ['203.0.113.120', '192.0.2.31', 443, 6, (at) => 10 + Math.sin(at / 4)],
  ['198.51.100.201', '192.0.2.30', 443, 6, (at) => 9 + Math.sin(at / 5)],
  ['192.0.2.53', '198.51.100.53', 53, 17, (at) => 8 + Math.sin(at / 9)],
  ['192.0.2.90', '203.0.113.90', 9100, 6, () => 6],
  ['198.51.100.77', '192.0.2.99', 3389, 6, (at, steps) => (at === Math.floor(steps * 0.82) ? 4 : 0)],
  ['192.0.2.201', '198.51.100.9', 993, 6, (at) => 5 + Math.sin(at)],
  ['203.0.113.9', '192.0.2.7', 123, 17, () => 1],
];
const BITS = 1e6;

const time = (second) => new Date(Math.round(second * 1000)).toISOString().replace('Z', '000000Z');
const span = (start, end) => ({ start: time(start), end: time(end) });
const sorted = (a, b) => (a < b ? [a, b] : [b, a]);

const KEYS = {
  source: ([src_addr]) => ({ src_addr }),
  destination: ([, dst_addr]) => ({ dst_addr }),
  conversation: ([a, b]) => ({ addr_a: sorted(a, b)[0], addr_b: sorted(a, b)[1] }),
  port: ([, , port, protocol]) => ({ protocol, port }),
  protocol: ([, , , protocol]) => ({ protocol }),
};

const SUMMED = ['bytes', 'packets', 'flows', 'lost', 'tcp_bytes', 'tcp_lost_bytes'];

/** `kind`: `live` or `capture`; `begin` and `end` of a capture, seconds. `gap`: steps of which nothing is known; `part`: one that was seen in part; `stops`: the nodes that ended in the middle. */
export function traffic({ kind, nodes, begin, end, account, gap = [], part = null, isCalm = false, stops = [], accountOf = () => account }) {
  const isCapture = kind === 'capture';
  const now = () => Math.floor(Date.now() / 1000 / MINUTE) * MINUTE;

  function times() {
    if (!isCapture) return { start: now() - 60 * MINUTE, step: MINUTE, steps: 60 };
    return { start: Math.floor(begin), step: 1, steps: Math.ceil(end) - Math.floor(begin) };
  }

  /** Of one node of several. */
  let share = 1;

  /** Bytes of a flow in each step; before is the hour without the rise. */
  function bytesOf(flow, { step, steps }, isBefore) {
    return Array.from({ length: steps }, (_, at) => Math.round((share * (at === part && !isBefore ? 0.5 : 1) * flow[4](isBefore ? at * 0.4 : isCalm ? at * 0.4 : at, steps) * BITS * step) / 8));
  }

  function seriesOf(frame, isBefore) {
    const { step, steps } = frame;
    const flows = FLOWS.map((flow) => bytesOf(flow, frame, isBefore));
    const at = (of) => Array.from({ length: steps }, (_, which) => of(which));
    const bytes = at((which) => flows.reduce((sum, own) => sum + own[which], 0));
    const tcp = at((which) => flows.reduce((sum, own, flow) => sum + (FLOWS[flow][3] === 6 ? own[which] : 0), 0));
    const hidden = isBefore ? [] : gap;
    const known = (values) => values.map((value, which) => (hidden.includes(which) ? null : value));
    return {
      flows,
      series: {
        bytes: known(bytes), packets: known(bytes.map((value) => Math.ceil(value / 821))), flows: known(at((which) => 1700 + ((which * 37) % 11) * 12 + (!isBefore && !isCapture && !isCalm && which === 49 ? 20_114 : 0))),
        lost: known(at((which) => (!isBefore && which === 40 ? 6412 : 0))), coverage: known(at((which) => (!isBefore && which === 40 ? 0.998 : 1))),
        tcp_bytes: known(tcp), tcp_lost_bytes: known(tcp.map((value, which) => Math.round(value * (!isBefore && which > 37 && which < 45 ? 0.009 : 0.0005)))),
        watched_ns: at((which) => (hidden.includes(which) ? 0 : which === part && !isBefore ? (step * NS) / 2 : step * NS)),
      },
    };
  }

  const add = (values) => values.reduce((sum, value) => sum + (value ?? 0), 0);
  const figuresOf = (series) => ({
    ...Object.fromEntries(SUMMED.map((name) => [name, name === 'flows' ? null : add(series[name])])),
    coverage: account.coverage, watched_ns: add(series.watched_ns),
  });
  const stepOf = (series, at, start, step) => ({
    window: span(start + at * step, start + (at + 1) * step), ...Object.fromEntries([...SUMMED, 'coverage', 'watched_ns'].map((name) => [name, series[name][at]])),
  });

  function rankingOf(by, top, { flows, series }, before) {
    const groups = new Map();
    FLOWS.forEach((flow, which) => {
      const key = KEYS[by](flow);
      const id = JSON.stringify(key);
      const known = groups.get(id) ?? { key, bytes: series.bytes.map(() => 0), before: 0 };
      groups.set(id, { ...known, bytes: known.bytes.map((value, at) => value + flows[which][at]), before: known.before + (before ? add(before.flows[which]) : 0) });
    });
    const known = (values) => values.map((value, at) => (series.bytes[at] === null ? null : value));
    const sum = ({ bytes }) => add(known(bytes));
    const all = [...groups.values()].sort((a, b) => sum(b) - sum(a));
    const total = add(series.bytes);
    const row = (bytes, was) => {
      const own = known(bytes);
      return {
        bytes: add(own), packets: Math.ceil(add(own) / 821), share: total ? add(own) / total : null, bytes_before: before ? was : null, change: before && was > 0 ? add(own) / was - 1 : null, series: own,
      };
    };
    const others = all.slice(top);
    const rest = series.bytes.map((_, at) => others.reduce((left, { bytes }) => left + bytes[at], 0));
    return {
      by, key: Object.keys(KEYS[by](FLOWS[0])), groups: null, rows: all.slice(0, top).map((one) => ({ key: one.key, ...row(one.bytes, one.before) })),
      rest: row(rest, others.reduce((sum, one) => sum + one.before, 0)), refused: null,
    };
  }

  function answer(parameters) {
    const top = Number(parameters.get('top') ?? 10);
    const node = parameters.get('node');
    share = node ? 1 / nodes.length : 1;
    const isOf = (one) => !node || one.node === node;
    const frame = times();
    const { start, step, steps } = frame;
    const own = seriesOf(frame, false);
    const before = isCapture ? null : seriesOf(frame, true);
    share = 1;
    const by = parameters.get('by');
    const holes = gap.map((at) => ({ ...span(start + at * step, start + (at + 1) * step), reason: 'not_sent', node: nodes[0] }));
    const last = steps - 1;
    const stopped = stops.map((of) => ({ ...span(start + Math.floor(steps / 2) * step, start + steps * step), reason: 'stopped', node: of }));
    // The last window of a capture ends with its last packet.
    if (isCapture && end % 1) own.series.watched_ns[last] = Math.round((end % 1) * NS);
    return {
      period: span(start, start + steps * step), before: before ? span(start - steps * step, start) : null, step_ns: step * NS, steps, kind, ended: isCapture, open: false, partial_unlisted: 0, nodes: node ? [node] : nodes,
      figures: figuresOf(own.series), figures_before: before ? figuresOf(before.series) : null,
      latest: stepOf(own.series, last, start, step), latest_before: before ? stepOf(before.series, last, start - steps * step, step) : null,
      series: own.series, series_before: before?.series ?? null, rankings: Object.keys(KEYS).filter((one) => !by || one === by).map((one) => rankingOf(one, top, own, before)),
      account: accountOf(node), missing: [...holes, ...stopped].filter(isOf), partial: part === null ? [] : [{ ...span(start + part * step, start + (part + 1) * step), reason: 'the spool was full', node: nodes[0] }].filter(isOf),
      kept: { start: time(start), steps, memory_bytes: 9_000_000, most_memory_bytes: 60_000_000, groups_per_step: 100 },
    };
  }

  function unusual() {
    const { start, step, steps } = times();
    const at = (which) => start + which * step;
    const place = (which) => Math.floor(steps * which);
    const entry = (rule, by, key, from, until, figure, past, figures, text) => ({
      id: `${rule}:${nodes[0]}:${Object.values(key).join()}`, rule, node: null, by, key, since: time(at(from)), until: until === null ? null : time(at(until)), window: span(at(from), at(from + 1)),
      figure, threshold: { value: Math.round(figure.value / 4), why: '4 times its most in the hour before' }, past: { value: past, window: span(at(0), at(1)) }, figures, text,
    });
    const scan = place(0.82);
    const begun = place(0.55);
    const { flows, series } = seriesOf(times(), false);
    const [own, all] = [flows[0][begun], series.bytes[begun]];
    const percent = (share) => `${Math.floor(share * 1000) / 10} %`;
    const entries = isCalm ? [] : [
      {
        ...entry('heavy', 'conversation', { addr_a: '192.0.2.12', addr_b: '203.0.113.40' }, begun, null, { name: 'share', unit: 'share', value: own / all }, 0.004,
          [{ name: 'bytes', unit: 'bytes', value: own }, { name: 'packets', unit: 'packets', value: Math.ceil(own / 821) }], `192.0.2.12 ↔ 203.0.113.40 has ${percent(own / all)} of all bytes, ${Math.round(own / 1e6)} MB; in the hour before it had at most 0.4 %`),
        threshold: { value: 0.2, why: '20 % of all bytes' },
      },
      entry('scan', 'source', { src_addr: '198.51.100.77' }, scan, scan + 1, { name: 'destinations', unit: 'addresses', value: 20_114 }, 212,
        [{ name: 'packets', unit: 'packets', value: 20_114 }, { name: 'bytes', unit: 'bytes', value: 1_206_840 }], '198.51.100.77 reached 20,114 addresses in one minute; its most in the hour before was 212'),
      entry('many_to_one', 'destination', { dst_addr: '192.0.2.30' }, place(0.9), null, { name: 'sources', unit: 'addresses', value: 3940 }, 650, [{ name: 'packets', unit: 'packets', value: 41_000 }],
        '192.0.2.30 was reached by 3,940 sources in one minute; its most in the hour before was 650'),
      entry('loss', 'flow', { src_addr: '198.51.100.8', dst_addr: '192.0.2.30', src_port: 443, dst_port: 50_123, protocol: 6 }, place(0.63), place(0.75), { name: 'lost', unit: 'bytes', value: 135_000_000 }, 1_200_000,
        [{ name: 'lost', unit: 'bytes', value: 135_000_000 }], '4.1 % of what 198.51.100.8 sent to 192.0.2.30 was lost: 135 MB in one minute'),
    ];
    const rule = (name, state, reason = null) => ({ rule: name, title: name, state, reason, threshold: '4 times its most of the last hour' });
    return {
      at: time(at(steps)), period: span(start, at(steps)), entries, entries_unlisted: 0,
      rules: [rule('scan', 'watched'), rule('many_to_one', 'watched'), rule('loss', 'watched'), rule('heavy', 'watched'), rule('silence', 'learning', 'the rule needs 10 earlier minutes, 3 are known')],
    };
  }
  return { answer, unusual };
}
