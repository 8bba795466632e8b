// One interface, measured live without a store: the first view of `edison run -i eth0 --web`.

const time = (second) => new Date(second * 1000).toISOString().replace('Z', '000000Z');

/** `loss`: packets that were lost before they were read. */
export function live({ tell, loss = 6412 }) {
  const began = Math.floor(Date.now() / 1000) - 7200;
  let now = Math.floor(Date.now() / 1000);
  const rate = 66_700;
  const packets = () => ({ received: (now - began) * rate + 2228, measured: (now - began) * rate, not_measured: loss ? { arp: 1904, ipv6_fragment: 318, truncated: 6 } : {} });
  const received = () => (loss ? packets() : { received: packets().measured, measured: packets().measured, not_measured: {} });
  const coverage = () => (loss ? packets().received / (packets().received + loss) : 1);
  const node = () => ({
    name: 'edge1', site: null, state: 'up', seen: time(now), coverage: 1, window: { start: time(now - 1), end: time(now) }, packets: received(), loss: loss ? { imissed: loss } : {},
    last: { packets: { received: rate, measured: rate, not_measured: {} }, loss: {} }, spool: { messages: 0, bytes: 0, shortened: 0, dropped: 0, unwritten: 0, fault: null }, store: null,
    clock: { synchronised: true, max_error_ns: 900_000, ahead_s: 0 }, load: { busy: 0.2, flows: 5097, most_flows: 1_048_576 }, tasks: { wanted: 0, applied: 0, refused: null, lapsed: 0 }, version: '0.1.0',
    sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {},
  });
  const status = () => ({
    mode: 'run', version: '0.1.0', now: time(now), started: time(began), ended: false, sources: ['eth0'], span: null, history: false, broker: null, nodes: [node()], refused: {}, refused_requests: {},
    faults: [], least_coverage: 0.999, alertmanagers: [], windows: { complete: 7200, partial: 0, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [],
  });
  setInterval(() => {
    now += 1;
    tell('status', status());
  }, 1000);
  const account = () => ({ ...received(), lost: loss ? { imissed: loss } : {}, coverage: coverage() });
  const fixed = () => [409, { error: 'a run takes no queries: give them on its command line' }];
  return { answers: [], events: [], stories: [], status, queries: () => [], install: fixed, remove: fixed, account };
}
