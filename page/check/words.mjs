// The words of the headline: what it says of each state, without a browser. `npm run words`.

import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const vite = await createServer({ root, configFile: false, logLevel: 'error', server: { middlewareMode: true, ws: false, watch: null }, appType: 'custom' });
const { headline } = await vite.ssrLoadModule('/src/now/headline.ts');
const failures = [];

const NOW = '2026-11-27T12:00:00.000000000Z';
const at = (seconds) => new Date(Date.parse('2026-11-27T12:00:00Z') + seconds * 1000).toISOString().replace('.000Z', '.000000000Z');
const window = { start: at(-2), end: at(-1) };
const packets = { received: 100, measured: 100, not_measured: {} };
const node = (more = {}) => ({
  name: 'Node1', state: 'up', seen: at(-1), coverage: 1, window, packets, loss: { imissed: 0 }, last: { packets, loss: {} },
  spool: { messages: 0, bytes: 0, shortened: 0, dropped: 0, unwritten: 0, fault: null }, store: null,
  clock: { synchronised: true, max_error_ns: 900_000, ahead_s: 0 }, load: null, tasks: { wanted: 1, applied: 1, refused: null, lapsed: 0 },
  version: '1', sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {}, ...more,
});
const said = (nodes, more = {}, known = {}) => {
  const status = {
    mode: 'controller', version: '1', now: NOW, started: at(-900), ended: false, sources: [], span: null, history: true,
    broker: { state: 'connected', since: at(-900), reason: null }, kafka: null, alertmanagers: [], nodes, refused: {}, refused_requests: {},
    faults: [], least_coverage: 0.999, windows: { complete: 9, partial: 0, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [], ...more,
  };
  return headline({ status, queries: [], events: [], stories: [], ofRun: [], ...known });
};
const expect = (name, { tone, lead, rest, also }, wanted, isCalm = false) => {
  const all = [lead, rest, ...also].join(' ');
  // That nothing is wrong is not said: what the traffic does is.
  if (/quiet/i.test(all) || (tone === 'calm') !== isCalm || !wanted.test(all)) failures.push(`${name}: ${tone}: ${all}`);
};
const fault = (name, until = null) => ({ fault: name, since: at(-60), until, reason: 'why it is so' });

expect('all is well', said([node()]), /1 of 1 node is up: 100 packets\/s pass it; no query stands/, true);
expect('a fault that is over', said([node()], { faults: [fault('archive', at(-30))] }), /^1 of 1 node is up: 100 packets\/s pass it/, true);
expect('a gap of an hour ago', said([node({ gaps: [{ start: at(-3700), end: at(-3600), reason: 'not_sent' }] })]), /^1 of 1 node is up: 100 packets\/s pass it/, true);
expect('a clock within a second', said([node({ clock: { synchronised: false, max_error_ns: null, ahead_s: 0.9 } })]), /^1 of 1 node is up: 100 packets\/s pass it/, true);
for (const name of ['archive', 'archive_rows', 'broker_away', 'broker_blocked']) {
  expect(name, said([node({ state: name === 'archive_rows' ? 'up' : 'unheard' })], { faults: [fault(name)] }), /why it is so/);
}
expect('not back yet', said([node({ state: 'unheard' })]), /1 node has not come back yet/);
expect('down', said([node({ state: 'down' })]), /Node1 is down/);
expect('late', said([node({ state: 'late' })]), /Node1 is late/);
expect('never', said([node({ state: 'never' })]), /Node1 has never answered/);
expect('loss', said([node({ last: { packets, loss: { imissed: 7 } } })]), /Node1 loses packets: 7 packets/);
expect('coverage', said([node({ coverage: 0.9 })]), /Node1 covers 90 %/);
expect('coverage at the limit', said([node({ coverage: 0.9995 })]), /^1 of 1 node is up: 100 packets\/s pass it/, true);
expect('a gap', said([node({ gaps: [{ start: at(-20), end: at(-14), reason: 'not_sent' }] })]), /Node1 lacks the time 11:59:40–11:59:46: not sent/);
expect('clock', said([node({ clock: { synchronised: true, max_error_ns: 1, ahead_s: -2.5 } })]), /clock of Node1 is 2\.5 s behind/);
expect('tasks', said([node({ tasks: { wanted: 2, applied: 1, refused: 'too many', lapsed: 0 } })]), /Node1 refuses its tasks: too many/);
expect('spool', said([node({ spool: { ...node().spool, fault: 'disk full' } })]), /spool of Node1/);
expect('store', said([node({ store: { files: 1, bytes: 1, lost: 0, fault: 'disk full' } })]), /store of Node1/);
expect('alerts', said([node()], { alertmanagers: [{ address: 'http://a', fault: 'cannot be reached' }] }), /Alertmanager at http:\/\/a cannot be reached/);

// What one did when it was last heard is no news of now.
const troubled = { last: { packets, loss: { imissed: 7 } }, clock: { synchronised: true, max_error_ns: 1, ahead_s: -2.5 }, gaps: [{ start: at(-20), end: at(-14), reason: 'not_sent' }],
  tasks: { wanted: 2, applied: 1, refused: 'too many', lapsed: 0 }, spool: { ...node().spool, fault: 'disk full' } };
expect('late, and troubled', said([node({ state: 'late', ...troubled })]), /^Node1 loses packets.*clock of Node1.*Node1 is late/);
for (const state of ['down', 'unheard', 'never']) {
  expect(`${state}, and was troubled`, said([node({ state, ...troubled })]), /^(?!.*(loses|covers|lacks|clock|refuses|spool)).*(Node1|1 node) (is down|has)/);
}

// Figures that are not to be trusted come before nodes that are late or down; many of these are counted.
expect('loss before down', said([node({ state: 'down' }), node({ name: 'Node2', last: { packets, loss: { imissed: 7 } } })]), /^Node2 loses packets.*Node1 is down/);
const named = (count, state) => Array.from({ length: count }, (_, at) => node({ name: `${state}${at}`, state }));
expect('many nodes', said([...named(970, 'up'), ...named(19, 'late'), ...named(11, 'down')]), /^Of 1,000 nodes 19 are late, 11 are down; figures are of the other 970\./);
expect('many lossy nodes', said(named(7, 'up').map((one) => ({ ...one, coverage: 0.9 }))), /^7 nodes lose packets or were not watched all the time: up0, up1, up2 and 4 more\./);

// What fires: its condition and figures, without the name of a query.
const column = (name, kind, unit = '') => ({ name, kind, unit });
const fired = {
  event: 'e1', kind: 'fired', query: 'between', fired_by: 'n2', key: { dst_addr: '10.0.0.7' }, node: 'Node2', at: at(-30), window: { start: at(-31), end: at(-30) }, values: { lost_before: 23_360 }, threshold: 0,
  late: false, coverage: 1, parent: null, columns: [column('dst_addr', 'address'), column('lost_before', 'unsigned', 'bytes')], story: 'e1',
};
const trigger = (phase) => ({ parent: 'n2', condition: 'n2.lost_before > 0', for_ns: 0, run_ns: 0, cooldown_ns: 0, until: null, thresholds: [{ column: 'lost_before', comparison: '>', value: 0 }], edges: [{ node: 'Node2', phase, keys: 1, since: at(-30), until: null, event: 'e1' }], keys: [] });
const query = (name, phase) => ({ name, text: '', columns: [], trigger: trigger(phase) });
const fires = (queries, events) => said([node()], {}, { queries, events });
expect('what fires', fires([query('between', 'active')], [fired]), /^Lost before: 23,360 bytes, above 0, for destination 10\.0\.0\.7 at Node2, since 11:59:30\./);
expect('what has a title', fires([query('between', 'active')], [{ ...fired, title: 'Bytes vanish before 10.0.0.7' }]), /^Bytes vanish before 10\.0\.0\.7, since 11:59:30\./);
if (/\bbetween\b/.test(fires([query('between', 'active')], [fired]).lead)) failures.push('the title has the name of a query');
// What had to stay below a threshold is not what is wrong.
const both = { ...trigger('active'), thresholds: [{ column: 'lost_before', comparison: '<=', value: 0 }, { column: 'lost_behind', comparison: '>', value: 0 }] };
expect('what passed', fires([{ ...query('between', 'active'), trigger: both }], [{ ...fired, key: {}, values: { lost_before: 0, lost_behind: 30_660 }, columns: [column('lost_before', 'unsigned', 'bytes'), column('lost_behind', 'unsigned', 'bytes')] }]), /^Lost behind: 30,660 bytes, above 0, at Node2, since/);
expect('what fired', fires([query('between', 'idle')], [fired]), /at Node2, at 11:59:30\./);
expect('several', fires([query('between', 'active'), query('other', 'active')], [fired, { ...fired, event: 'e2', query: 'other' }]), /^2 conditions hold\. The newest: Lost before/);

// What the traffic does: figures are those of the fixture, known by hand. 438 Mbit/s are 3,285,000,000 bytes in a minute; an hour ago 310.
const figures = (bytes, more = {}) => ({ bytes, packets: 4_002_000, flows: null, lost: 0, coverage: 1, tcp_bytes: null, tcp_lost_bytes: null, watched_ns: 60e9, ...more });
const leader = (key, bytes, before, share) => ({ key, bytes, packets: 1, share, bytes_before: before, change: null, series: [] });
const period = { start: at(-3600), end: at(0) };
const traffic = (more = {}) => ({
  period, before: period, step_ns: 60e9, steps: 60, kind: 'live', ended: false, nodes: ['edge1'], figures: figures(169e9, { watched_ns: 3600e9 }), figures_before: figures(140e9), latest: { window: period, ...figures(3_285_000_000) },
  latest_before: { window: period, ...figures(2_325_000_000) }, series: {}, series_before: null, account: {}, missing: [], partial: [],
  rankings: [
    { by: 'source', key: ['src_addr'], rows: [leader({ src_addr: '192.0.2.12' }, 29.2e9, 2.3e9, 0.173)], rest: null, refused: null },
    { by: 'conversation', key: ['addr_a', 'addr_b'], rows: [leader({ addr_a: '192.0.2.12', addr_b: '203.0.113.40' }, 29.2e9, 2.3e9, 0.173)], rest: null, refused: null },
    { by: 'port', key: ['protocol', 'port'], rows: [leader({ protocol: 6, port: 443 }, 70e9, 70e9, 0.416)], rest: null, refused: null },
  ],
  ...more,
});
const passes = (more, state = {}) => said([node()], state, { now: traffic(more) });
expect('a live interface', passes(), /^438 Mbit\/s and 66,700 packets\/s pass eth0, 41 % more bits than an hour ago\. The rise of 29 GB in the hour is one conversation: 192\.0\.2\.12 ↔ 203\.0\.113\.40\. 192\.0\.2\.12 sends most, 17\.3 % of 169 GB in the last hour\. 41\.6 % is 443\/tcp \(https\)\./, true);
expect('nothing known of before', passes({ latest_before: null, figures_before: null }), /^438 Mbit\/s and 66,700 packets\/s pass eth0\. 192/, true);
expect('no packet', passes({ latest: { window: period, ...figures(0, { packets: 0 }) } }), /^No packet has come to eth0 in the last minute\. Edison waits\./, true);
expect('a minute that is not known', passes({ latest: { window: period, ...figures(null, { packets: null }) } }), /is not known/, true);
const capture = { mode: 'run', ended: true, sources: ['demo.pcap'], span: { start: at(-30), end: at(0) } };
const held = { kind: 'capture', figures: figures(772_600_000, { packets: 2_000_000, watched_ns: 30e9 }) };
const ended = (packets, loss) => said([node({ state: 'ended', packets, loss })], capture, { now: traffic({ ...held, nodes: ['Node1'], account: { ...packets, lost: loss, coverage: null } }) });
expect('a capture', ended({ received: 2_000_000, measured: 2_000_000, not_measured: {} }, null), /^demo\.pcap holds 30 s: 773 MB in 2,000,000 packets, 17\.3 % of the bytes sent by 192\.0\.2\.12\. On average that is 206 Mbit\/s/, true);
// What lost packets, or did not measure them, never looks well.
expect('a capture with arp', ended({ received: 2_000_000, measured: 1_999_800, not_measured: { arp: 200 } }, null), /^demo\.pcap holds.*200 packets of Node1, 0\.01 % of all, were not measured: 200 arp\./);
expect('a run with losses', ended({ received: 1_860_139, measured: 1_860_139, not_measured: {} }, { imissed: 139_861 }), /^139,861 packets, 6\.9 % of all, were lost before Node1 was read\./);
expect('a live run with losses', said([node({ packets: { received: 1_860_139, measured: 1_860_139, not_measured: {} }, loss: { imissed: 139_861 } })], { mode: 'run' }), /^139,861 packets, 6\.9 % of all, were lost before Node1 was read\./);

// What the user's own filter leaves out is no trouble; what else is not measured is. The account says it, in the same figures.
expect('a filter', ended({ received: 2_000_000, measured: 80_000, not_measured: { filter: 1_920_000 } }, null), /^(?!.*(filter|not measured))demo\.pcap holds/, true);
expect('a filter and arp', ended({ received: 2_000_000, measured: 79_900, not_measured: { filter: 1_920_000, arp: 100 } }, null), /100 packets of Node1, <0\.01 % of all, were not measured: 100 arp\.$/);
const older = { received: 1_000_000, measured: 999_900, not_measured: { arp: 100 } };
expect('the figures of the account', said([node({ state: 'ended', packets: older, loss: null })], capture, { now: traffic({ ...held, nodes: ['Node1'], account: { received: 2_000_000, measured: 1_999_800, not_measured: { arp: 200 }, lost: null, coverage: null } }) }), /200 packets of Node1/);

// One node of several is told by its own figures, and all of them once.
const taps = { ...capture, sources: ['lo', 'lo'] };
const two = [node({ name: 'A', state: 'ended' }), node({ name: 'B', state: 'ended' })];
const totals = [[null, 300], ['A', 100], ['B', 200]].map(([of, total_byte]) => ({ query: 'totals', node: of, window: null, rows: [{ total_byte }] }));
expect('a node of several', said(two, taps, { node: 'A', now: traffic({ ...held, nodes: ['A'], account: { received: 1, measured: 1, not_measured: {}, lost: null, coverage: null } }) }), /^A holds 30 s: 773 MB/, true);
expect('a node of several, live', said(two, { ...taps, ended: false }, { node: 'A', now: traffic({ ...held, nodes: ['A'], account: { received: 1, measured: 1, not_measured: {}, lost: null, coverage: null } }) }), /^A is being measured: 773 MB/, true);
expect('all nodes without traffic', said(two, taps, { ofRun: totals }), /^lo holds 30 s: 300 bytes in 200 packets\./, true);
expect('one without traffic', said(two, taps, { ofRun: totals, node: 'B' }), /^B holds 200 bytes in 100 packets\./, true);

// Bounds of a fall are on the other side; what was watched for longer is compared by its rate.
const { sentence: whySentence } = await vite.ssrLoadModule('/src/explore/why.ts');
const { changeCell, shortCell } = await vite.ssrLoadModule('/src/explore/cells.ts');
const is = (name, text, wanted) => text === wanted || failures.push(`${name}: ${text}, not ${wanted}`);
const changed = (difference, difference_is) => whySentence({ measure: 'bits', compared: 'sums', difference, difference_is, fields: [] });
is('a fall at least', changed(-1_024_000, 'at_least'), 'It fell by at most 128 kB in all.');
is('a fall at most', changed(-1_024_000, 'at_most'), 'It fell by at least 128 kB in all.');
is('a rise at least', changed(1_024_000, 'at_least'), 'It rose by at least 128 kB in all.');
is('an exact fall', changed(-1_024_000, 'exact'), '−128 kB in all.');
const range = (lower, upper = lower, value = lower) => ({ value, lower, upper });
is('rates of unequal times', changeCell(range(1500), range(1000), 1.5), 'same');
is('sums of equal times', changeCell(range(1500), range(1000)), '+50 %');
is('bounds that read the same', shortCell(range(3_431_000, 3_432_000), 'bytes'), '≈ 3.43 MB');
is('bounds', shortCell(range(3_431_000, 4_000_000), 'bytes'), '3.43 MB to 4 MB');

await vite.close();
failures.forEach((failure) => console.error(failure));
if (failures.length) process.exit(1);
console.log('the headline says what it should');
