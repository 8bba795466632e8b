// Many nodes at eight sites: some late, down, lossy, or with a clock that is wrong. What a page of a thousand nodes is measured with.

const SITES = [
  ['Amsterdam', 52.37, 4.9], ['Frankfurt', 50.11, 8.68], ['London', 51.51, -0.13], ['Ashburn', 39.04, -77.49],
  ['Singapore', 1.35, 103.82], ['New York', 40.71, -74.01], ['Tokyo', 35.68, 139.69], ['Paris', 48.86, 2.35],
];
const time = (second) => new Date(Math.round(second * 1000)).toISOString().replace('Z', '000000Z');
const noise = (at) => (Math.imul(at ^ 0x5bd1e995, 0x27d4eb2d) >>> 0) / 2 ** 32;

export function many({ tell, count }) {
  const began = Math.floor(Date.now() / 1000) - 3600;
  let now = Math.floor(Date.now() / 1000);
  const kinds = Array.from({ length: count }, (_, at) => (at % 91 === 7 ? 'down' : at % 53 === 11 ? 'late' : at % 143 === 5 ? 'low' : at % 333 === 3 ? 'clock' : 'up'));
  const names = kinds.map((_, at) => `${SITES[at % SITES.length][0].toLowerCase().slice(0, 3)}-edge-${1 + Math.floor(at / SITES.length)}`);

  function node(at) {
    const kind = kinds[at];
    const [site, latitude, longitude] = SITES[at % SITES.length];
    const rate = Math.round(20_000 + 180_000 * noise(at) + 4000 * Math.sin(now / 30 + at));
    const end = kind === 'down' ? now - 1600 - at : kind === 'late' ? now - 42 : now;
    const received = (now - began) * 100_000 + at;
    const lost = kind === 'low' ? 138_428 + at : 0;
    return {
      name: names[at], site: { name: site, at: { latitude, longitude } }, state: ['down', 'late'].includes(kind) ? kind : 'up', seen: time(end), coverage: kind === 'low' ? 0.961 : 1, window: { start: time(end - 1), end: time(end) },
      packets: { received: received + 7, measured: received, not_measured: { arp: 7 } }, loss: lost ? { imissed: lost } : {},
      last: { packets: { received: rate, measured: rate, not_measured: {} }, loss: {} }, spool: { messages: kind === 'late' ? 1840 : 0, bytes: 0, shortened: 0, dropped: 0, unwritten: 0, fault: null }, store: null,
      clock: { synchronised: kind !== 'clock', max_error_ns: kind === 'clock' ? 16e9 : 1_200_000, ahead_s: 0 }, load: { busy: 0.2, flows: 20_000 + at, most_flows: 1_000_000 }, tasks: { wanted: 1, applied: 1, refused: null, lapsed: 0 },
      version: at % 17 ? '0.1.0' : '0.0.9', sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {},
    };
  }
  const status = () => ({
    mode: 'controller', version: '0.1.0', now: time(now), started: time(began), ended: false, sources: [], span: null, history: true, broker: { state: 'connected', since: time(began), reason: null },
    nodes: kinds.map((_, at) => node(at)), refused: {}, refused_requests: {}, faults: [], least_coverage: 0.99, alertmanagers: [], windows: { complete: 288_114, partial: 12, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [],
  });
  setInterval(() => {
    now += 1;
    tell('status', status());
  }, 1000);
  const fixed = () => [409, { error: 'this fixture is fixed' }];
  const account = () => ({ received: 213_183_880, measured: 213_181_652, not_measured: { arp: 2228 }, lost: { imissed: 138_428 }, coverage: 0.9993 });
  return { answers: [], events: [], stories: [], status, queries: () => [], install: fixed, remove: fixed, account };
}
