// A capture that was measured to its end.

const column = (name, kind, unit = '') => ({ name, kind, unit });
const COUNTS = [column('flows', 'unsigned', 'flows'), column('total_count', 'unsigned', 'packets'), column('total_byte', 'unsigned', 'bytes'), column('wire_byte', 'unsigned', 'bytes')];
const KEY = [column('src_addr', 'address'), column('dst_addr', 'address'), column('src_port', 'unsigned'), column('dst_port', 'unsigned'), column('protocol', 'unsigned')];
const STARTED = '2026-11-24T15:40:02.000000001Z';
const ENDED = '2026-11-24T15:41:17.250000000Z';

const counts = (size) => ({ flows: Math.ceil(size / 7), total_count: size * 41, total_byte: size * 41 * 612, wire_byte: size * 41 * 636 });
const sizes = Array.from({ length: 12 }, (_, at) => Math.round(48211 / (at + 1) ** 1.4));
const host = (at) => (at % 4 === 3 ? `2001:db8:0:1::${at + 1}` : `192.0.2.${at * 7 + 1}`);

const answer = (query, columns, rows, rest = { groups: 0 }, more = {}) => ({
  query, node: 'probe-1', window: null, status: 'complete', coverage: null, class: 'row', rows, rest, bounds: 'exact', columns, ...more,
});
const rest = (groups) => ({ groups, ...counts(groups * 3) });

/** `isTapped`: three nodes, two of which ended earlier, with a filter of the user's. */
export function capture({ isTapped = false } = {}) {
  const flood = [column('dst_addr', 'address'), column('sources', 'estimate')];
  const answers = [
    answer('totals', COUNTS.toSorted((a, b) => Number(a.name === 'flows') - Number(b.name === 'flows')), [{ flows: 297213, total_count: 1999800, total_byte: 1421884213, wire_byte: 1469879413 }]),
    answer('flood', flood, [0, 1, 2].map((at) => ({ dst_addr: host(at), sources: { value: 40000 >> at, lower: 39120 >> at, upper: 40880 >> at } })),
      { groups: 4120 }, { class: 'sketch', bounds: 'each with a probability of 0.950' }),
    answer('hosts', [column('addr', 'address'), ...COUNTS], sizes.map((size, at) => ({ addr: host(at), ...counts(size) })), rest(4115)),
    answer('conversations', [column('conversation', 'text'), ...COUNTS], sizes.map((size, at) => ({ conversation: `${host(at)}:443 ↔ ${host(at + 1)}:${50123 + at} tcp`, ...counts(size) })), rest(18841)),
    answer('ports', [column('protocol', 'unsigned'), column('port', 'unsigned'), ...COUNTS], [443, 53, 80, 22].map((port, at) => ({ protocol: port === 53 ? 17 : 6, port, ...counts(sizes[at]) })), rest(60111)),
    answer('protocols', [column('protocol', 'unsigned'), ...COUNTS], [6, 17, 1].map((protocol, at) => ({ protocol, ...counts(sizes[at * 3]) }))),
    answer('scanners', [column('src_addr', 'address'), column('destinations', 'unsigned'), ...COUNTS], sizes.slice(0, 5).map((size, at) => ({ src_addr: host(at), destinations: 4080 >> at, ...counts(size) })), rest(901)),
    answer('targets', [column('dst_addr', 'address'), column('sources', 'unsigned'), ...COUNTS], sizes.slice(0, 5).map((size, at) => ({ dst_addr: host(at), sources: 2011 >> at, ...counts(size) })), rest(2201)),
    answer('top_bytes', [...KEY, ...COUNTS.slice(1)], [...sizes.slice(0, 5).map((size, at) => ({ src_addr: host(at), dst_addr: host(at + 2), src_port: 443, dst_port: 50123 + at, protocol: 6, ...counts(size) })), { src_addr: null, dst_addr: null, src_port: null, dst_port: null, protocol: null, ...counts(90) }], rest(297207)),
  ];
  const window = { start: '2026-11-24T15:41:10.000000000Z', end: '2026-11-24T15:41:20.000000000Z' };
  const query = {
    name: 'flood', text: 'flood: select dst_addr, count(src_addr) as sources groupby dst_addr limit 3;', definitions: [], file: null, class: 'sketch', nodes: [],
    every_ns: null, over_ns: null, columns: flood, state: 'standing', runs: [], trigger: null, latest: answers.filter(({ query }) => query === 'flood'),
  };
  const packets = isTapped ? { received: 900_000, measured: 90_000, not_measured: { filter: 810_000 } } : { received: 2000000, measured: 1999800, not_measured: { arp: 188, ipv4_header: 12 } };
  const names = isTapped ? ['A', 'B', 'C'] : ['probe-1'];
  const times = (by) => ({ received: packets.received * by, measured: packets.measured * by, not_measured: Object.fromEntries(Object.entries(packets.not_measured).map(([name, count]) => [name, count * by])) });
  // The answer of all nodes beside those of each.
  if (isTapped) answers.splice(0, Infinity, ...[null, ...names].map((node) => ({ ...answers[0], node, rows: [{ flows: 1, total_count: packets.measured * (node ? 1 : 3), total_byte: 41_000_000 * (node ? 1 : 3), wire_byte: 1 }] })));
  const status = () => ({
    mode: 'run', history: false, version: '0.1.0', now: new Date().toISOString().replace('Z', '000000Z'), started: new Date().toISOString().replace('Z', '000000Z'), ended: true, sources: isTapped ? ['a.pcap', 'tap.pcap', 'tap.pcap'] : ['trace.pcapng'],
    broker: null, refused: {}, faults: [], least_coverage: 0.999, alertmanagers: [], windows: { complete: 8, partial: 0, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [], span: { start: STARTED, end: ENDED },
    nodes: names.map((name) => ({
      name, site: null, state: 'ended', seen: ENDED, coverage: null, window, packets, loss: null, last: { packets, loss: null }, spool: { messages: 0, bytes: 0, dropped: 0 },
      clock: null, tasks: { wanted: 0, applied: 0, refused: null }, version: '0.1.0', sources: ['trace.pcapng'], gaps: [], missing: [], watched: 1, refused: {},
    })),
  });
  const fixed = { error: 'a run takes no queries: give them on its command line' };
  const account = (node) => ({ ...times(node ? 1 : names.length), lost: null, coverage: null });
  return { account, answers, events: [], stories: [], status, queries: () => [query], install: () => [409, fixed], remove: () => [409, fixed] };
}
