// Ten nodes and a day of history in windows of ten seconds: what the speed of the page is measured with.

const NODES = Array.from({ length: 10 }, (_, at) => `Node${at + 1}`);
const EVERY = 10;
const DAY = 86_400;
const SOURCES = Array.from({ length: 12 }, (_, at) => `10.0.0.${at + 1}`);

const time = (second) => new Date(second * 1000).toISOString().replace('Z', '000000Z');
const bytes = (name) => ({ name, kind: 'unsigned', unit: 'bytes' });
const SOURCE = { name: 'src_addr', kind: 'address', unit: '' };

/** Bytes of a source in a window: restless, and the same each time. */
function bytesOf(which, window) {
  const noise = Math.imul((window * 31 + which * 17) ^ 0x5bd1e995, 0x27d4eb2d) >>> 12;
  return Math.round((1e7 / (which + 1)) * (1.2 + Math.sin(window / 300 + which)) + noise);
}

export function day({ tell }) {
  const now = Math.floor(Date.now() / 1000 / EVERY) * EVERY;
  const started = time(now - DAY);
  const answers = [];
  const answer = (query, node, end) => ({
    query, node, window: { start: time(end - EVERY), end: time(end) }, status: 'complete', coverage: 1, class: 'row',
    rows: [{ bytes: bytesOf(NODES.indexOf(node), end / EVERY) }], rest: { groups: 0 }, bounds: 'exact', columns: [bytes('bytes')],
  });
  const enter = (end) => NODES.map((node) => answer('load', node, end));
  for (let end = now - DAY + EVERY; end <= now; end += EVERY) answers.push(...enter(end));

  let last = now;
  const nodes = () => NODES.map((name, at) => ({
    name, state: 'up', seen: time(last), coverage: 1, window: { start: time(last - EVERY), end: time(last) },
    packets: { received: 86_400_000 + last - now, measured: 86_399_990 + last - now, not_measured: { arp: 10 } }, loss: { imissed: at },
    last: { packets: { received: 10_000 + at, measured: 10_000 + at, not_measured: {} }, loss: {} }, spool: { messages: 0, bytes: 0, shortened: 0, dropped: 0, unwritten: 0, fault: null },
    store: { files: 900, bytes: 2_000_000_000, lost: 0, fault: null }, clock: { synchronised: true, max_error_ns: 900_000, ahead_s: 0 },
    load: { busy: 0.2, flows: 20_000 + at, most_flows: 1_000_000 }, tasks: { wanted: 1, applied: 1, refused: null, lapsed: 0 }, version: '0.1.0', sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {},
  }));
  const status = () => ({
    mode: 'controller', version: '0.1.0', now: time(Date.now() / 1000), started, ended: false, sources: [], span: null, history: true,
    broker: { state: 'connected', since: started, reason: null }, nodes: nodes(), refused: {}, refused_requests: {},
    faults: [], least_coverage: 0.999, alertmanagers: [], windows: { complete: answers.length, partial: 0, late: 0, lost: 0, missing: 0, doubled: 0 }, notes: [],
  });
  const queries = () => [{
    name: 'load', text: 'load: select sum(total_byte) as bytes every 10s;', definitions: [], file: 'load.eq', class: 'row', nodes: NODES, every_ns: EVERY * 1e9, over_ns: EVERY * 1e9,
    columns: [bytes('bytes')], state: 'standing', runs: [], trigger: null, latest: answers.slice(-NODES.length),
  }];
  setInterval(() => {
    last += EVERY;
    for (const one of enter(last)) {
      answers.push(one);
      tell('answer', one);
    }
    answers.splice(0, answers.length - (DAY / EVERY) * NODES.length);
    tell('status', status());
  }, EVERY * 1000);

  /** What the stores of all nodes together have of the sources that a text names. */
  function history(text) {
    const all = [...text.matchAll(/^(\w+): select ([^]*?);$/gm)].map(([, name, rest]) => {
      const [from, to] = ['from', 'to'].map((word) => Date.parse(new RegExp(`${word} '([^']+)'`).exec(rest)[1]) / 1000);
      const isGrouped = /groupby src_addr/.test(rest);
      const every = Number(/every (\d+)s/.exec(rest)?.[1] ?? 60 * Number(/every (\d+)min/.exec(rest)?.[1] ?? 0));
      const limit = isGrouped ? Number(/limit (\d+)/.exec(rest)?.[1] ?? SOURCES.length) : 1;
      return { name, isGrouped, from, to, every, limit };
    });
    const said = all.flatMap(({ name, isGrouped, from, to, every, limit }) => {
      const one = (start, end) => {
        const figures = SOURCES.map((_, which) => {
          // Of a long time a sample in each of a hundred parts: nobody compares these.
          const step = Math.max(1, Math.floor((end - start) / EVERY / 100));
          let sum = 0;
          for (let window = start / EVERY; window < end / EVERY; window += step) sum += bytesOf(which, window) * step;
          return sum;
        });
        const listed = isGrouped ? SOURCES.slice(0, limit).map((src_addr, which) => ({ src_addr, bytes: figures[which] })) : [{ bytes: figures.reduce((a, b) => a + b) }];
        const others = figures.slice(limit);
        const rest = { groups: isGrouped ? others.length : 0, ...(isGrouped ? { bytes: others.reduce((a, b) => a + b, 0) } : {}) };
        return {
          query: name, node: null, window: { start: time(start), end: time(end) }, status: 'complete', coverage: null, class: 'row', levels: ['rows'],
          rows: listed, rest, bounds: 'exact', columns: [...(isGrouped ? [SOURCE] : []), bytes('bytes')],
        };
      };
      if (!every) return [one(from, to)];
      return Array.from({ length: Math.round((to - from) / every) }, (_, at) => one(from + at * every, from + (at + 1) * every));
    });
    return [200, { answers: said, nodes: NODES.map((name) => ({ name })), warnings: [] }, 0];
  }

  const fixed = () => [409, { error: 'this fixture is fixed' }];
  return { played: { answers, events: [], stories: [], status, queries, install: fixed, remove: fixed }, remembered: history };
}
