// The words of the headline: what it says of each state, without a browser. `npm run words`.

import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const vite = await createServer({ root, configFile: false, logLevel: 'error', server: { middlewareMode: true, ws: false, watch: null }, appType: 'custom' });
const { headline } = await vite.ssrLoadModule('/src/words/headline.ts');
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
const said = (nodes, more = {}) => {
  const status = {
    mode: 'controller', version: '1', now: NOW, started: at(-900), ended: false, sources: [], span: null, history: true,
    broker: { state: 'connected', since: at(-900), reason: null }, kafka: null, alertmanagers: [], nodes, refused: {}, refused_requests: {},
    faults: [], least_coverage: 0.999, windows: { complete: 9, partial: 0, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [], ...more,
  };
  return headline({ status, queries: [], events: [], stories: [], ofRun: [] });
};
const expect = (name, { tone, lead, rest, also }, wanted, isCalm = false) => {
  const all = [lead, rest, ...also].join(' ');
  const isQuiet = all.includes('All is quiet');
  if (isQuiet !== isCalm || (tone === 'calm') !== isCalm || !wanted.test(all)) failures.push(`${name}: ${tone}: ${all}`);
};
const fault = (name, until = null) => ({ fault: name, since: at(-60), until, reason: 'why it is so' });

expect('all is well', said([node()]), /All is quiet: 1 of 1 node answers/, true);
expect('a fault that is over', said([node()], { faults: [fault('archive', at(-30))] }), /All is quiet/, true);
expect('a gap of an hour ago', said([node({ gaps: [{ start: at(-3700), end: at(-3600), reason: 'not_sent' }] })]), /All is quiet/, true);
expect('a clock within a second', said([node({ clock: { synchronised: false, max_error_ns: null, ahead_s: 0.9 } })]), /All is quiet/, true);
for (const name of ['archive', 'archive_rows', 'broker_away', 'broker_blocked']) {
  expect(name, said([node({ state: name === 'archive_rows' ? 'up' : 'unheard' })], { faults: [fault(name)] }), /why it is so/);
}
expect('not back yet', said([node({ state: 'unheard' })]), /1 node has not come back yet/);
expect('down', said([node({ state: 'down' })]), /Node1 is down/);
expect('late', said([node({ state: 'late' })]), /Node1 is late/);
expect('never', said([node({ state: 'never' })]), /Node1 has never answered/);
expect('loss', said([node({ last: { packets, loss: { imissed: 7 } } })]), /Node1 loses packets: 7 packets/);
expect('coverage', said([node({ coverage: 0.9 })]), /Node1 covers 90 %/);
expect('coverage at the limit', said([node({ coverage: 0.9995 })]), /All is quiet/, true);
expect('a gap', said([node({ gaps: [{ start: at(-20), end: at(-14), reason: 'not_sent' }] })]), /Node1 lacks the time 11:59:40–11:59:46: not sent/);
expect('clock', said([node({ clock: { synchronised: true, max_error_ns: 1, ahead_s: -2.5 } })]), /clock of Node1 is 2\.5 s behind/);
expect('tasks', said([node({ tasks: { wanted: 2, applied: 1, refused: 'too many', lapsed: 0 } })]), /Node1 refuses its tasks: too many/);
expect('spool', said([node({ spool: { ...node().spool, fault: 'disk full' } })]), /spool of Node1/);
expect('store', said([node({ store: { files: 1, bytes: 1, lost: 0, fault: 'disk full' } })]), /store of Node1/);
expect('alerts', said([node()], { alertmanagers: [{ address: 'http://a', fault: 'cannot be reached' }] }), /Alertmanager at http:\/\/a cannot be reached/);

// What one did when it was last heard is no news of now.
const troubled = { last: { packets, loss: { imissed: 7 } }, clock: { synchronised: true, max_error_ns: 1, ahead_s: -2.5 }, gaps: [{ start: at(-20), end: at(-14), reason: 'not_sent' }],
  tasks: { wanted: 2, applied: 1, refused: 'too many', lapsed: 0 }, spool: { ...node().spool, fault: 'disk full' } };
expect('late, and troubled', said([node({ state: 'late', ...troubled })]), /Node1 is late.*loses packets.*clock of Node1/);
for (const state of ['down', 'unheard', 'never']) {
  expect(`${state}, and was troubled`, said([node({ state, ...troubled })]), /^(?!.*(loses|covers|lacks|clock|refuses|spool)).*(Node1|1 node) (is down|has)/);
}

await vite.close();
failures.forEach((failure) => console.error(failure));
if (failures.length) process.exit(1);
console.log('the headline says what it should');
