// Two nodes and examples/locate.eq: after a while bytes are lost between the nodes, and again from time to time.

import { readFileSync } from 'node:fs';

const IMAGE = '<img src=x onerror=alert(1)>';
const SECOND = 1e9;
/** Seconds from one loss to the next. */
const ROUND = 40;
const PAST = 150;

const bytes = (name) => ({ name, kind: 'unsigned', unit: 'bytes' });
const address = (name) => ({ name, kind: 'address', unit: '' });
/** Of examples/locate.eq. */
const DEFINITIONS = ['let Senders = 10.0.0.0/8;', 'let Tolerated = 0;'];
const TOTALS = [bytes('lost_before'), bytes('lost_behind')];
const FLOWS = [address('src_addr'), address('dst_addr'), bytes('lost'), bytes('total')];

const at = (second) => new Date(second * 1000).toISOString().replace('.000Z', '.000000000Z');
const told = (second) => at(second).replace('T', ' ').replace('.000000000', '');
const grouped = (number) => number.toLocaleString('en-US');
const window = (end) => ({ start: at(end - 1), end: at(end) });
const inWindow = (end) => `[${told(end - 1)}, ${told(end).slice(11)})`;
let made = 0;
const id = () => (0x5f1c2a9be01d0000n + BigInt(Date.now() % 1e6) * 97n + BigInt((made += 1))).toString(16);

export function locate({ tell, after, isHostile, isEmpty }) {
  const [first, second] = isHostile ? [`Node1${IMAGE}`, `"Node2'--></script>\u202e`] : ['Node1', 'Node2'];
  const answers = [];
  const events = [];
  const stories = [];
  const began = Math.floor(Date.now() / 1000);
  let now = began;
  let received = [2041772, 1858160];
  const phases = Object.fromEntries(['before', 'n2', 'between', 'behind'].map((name) => [name, { phase: 'idle', since: null, event: null }]));
  const runs = { n2: [], between: [], before: [], behind: [] };
  let queries = isEmpty ? [] : read(first, second, isHostile);

  const answer = (query, node, end, columns, rows, more = {}) => {
    const one = {
      query, node, window: window(end), status: 'complete', coverage: 1, class: query === 'n1' || query === 'n2' ? 'row' : 'zoom',
      rows, rest: { groups: 0 }, bounds: 'exact', columns, ...more,
    };
    answers.push(one);
    if (answers.length > 5000) answers.shift();
    tell('answer', one);
    return one;
  };
  const event = (kind, query, by, node, end, values, story, parent = null) => {
    const key = isHostile && query === 'between' ? { host: `${IMAGE} a very long name that has no end, ${'x'.repeat(90)}` } : { dst_addr: '203.0.113.1' };
    const one = {
      event: id(), kind, query, fired_by: by, key, node, at: at(end), window: window(end), values, threshold: Object.keys(values).length === 1 ? 0 : null,
      late: false, coverage: 1, parent, columns: ['host' in key ? { name: 'host', kind: 'text', unit: '' } : address('dst_addr'), ...TOTALS.filter(({ name }) => name in values)],
    };
    one.story = story?.id ?? one.event;
    if (query === 'between') one.title = `Packets to 203.0.113.1 are lost between ${first} and ${second}`;
    events.push(one);
    tell('event', one);
    story?.events.push(one.event);
    return one;
  };
  const say = (story, sentence) => {
    story.text += `${sentence}\n`;
    tell('story', { id: story.id, title: story.title ?? null, text: story.text, events: story.events, events_unlisted: 0, acknowledged: story.acknowledged ?? null });
  };
  const set = (query, phase, end, fired = null) => {
    phases[query] = { phase, since: at(end), event: fired };
  };

  /** What happens in a second of a round; 0 is the window in which bytes are lost. */
  let story = null;
  let cause = null;
  const play = (step, end) => {
    const lost = step >= 0 && step < 6 ? [30660, 28120, 33580, 21900, 14600, 2920][step] : 0;
    const isGone = step === -30;
    const isPartial = step === -20;
    received = received.map((count, node) => count + 900 + ((end * (node + 7)) % 211));
    if (!isGone) {
      answer('n1', first, end, TOTALS, [{ lost_before: 0, lost_behind: lost || (end % 17 === 0 ? 0 : 0) }],
        isPartial ? { status: 'partial', reason: 'a block of rows was refused', coverage: 0.982 } : {});
    }
    if (step === 0) {
      cause = event('fired', 'n2', 'n1', first, end, { lost_before: 0, lost_behind: lost }, null);
      story = { id: cause.event, text: '', at: at(end), query: 'n2', node: first, events: [cause.event] };
      stories.push(story);
      if (stories.length > 100) stories.shift();
      set('n2', 'active', end, cause.event);
      runs.n2 = [{ start: at(end + 2), end: at(end + 7), cause: cause.event }];
      say(story, `n2 fired at ${told(end)} because n1 on ${first} had lost_behind = ${grouped(lost)} bytes > 0 and lost_before = 0 bytes <= 0 in ${inWindow(end)}.`);
    }
    if (step >= 3 && step < 8) {
      const seen = [23360, 21900, 26280, 13140, 0][step - 3];
      const isLow = step === 6;
      answer('n2', second, end, TOTALS, [{ lost_before: seen, lost_behind: 0 }], isLow ? { coverage: 0.93, late: true } : {});
      if (step === 3) {
        say(story, `Therefore n2 ran on ${second} in ${inWindow(end)}: lost_before = ${grouped(seen)} bytes, lost_behind = 0 bytes.`);
        const fired = event('fired', 'between', 'n2', second, end, { lost_before: seen }, story, cause.event);
        story.title = fired.title;
        set('between', 'active', end, fired.event);
        runs.between = [{ start: at(end + 2), end: at(end + 3), cause: fired.event }];
        say(story, `between fired at ${told(end)} because n2 on ${second} had lost_before = ${grouped(seen)} bytes > 0 in ${inWindow(end)}.`);
      }
    }
    if (step === 6) {
      const estimate = { value: 13210, lower: 13140, upper: 13400 };
      answer('between', second, end, FLOWS, [
        { src_addr: '10.0.0.1', dst_addr: '203.0.113.1', lost: isHostile ? '9007199254740993' : 13140, total: 1684020 },
        { src_addr: '2001:db8::1', dst_addr: '2001:db8::2', lost: isHostile ? estimate : 1460, total: null },
      ]);
      say(story, `Therefore between ran on ${second} in ${inWindow(end)}: 2 groups, the first with src_addr = 10.0.0.1, dst_addr = 203.0.113.1, lost = 13,140 bytes, total = 1,684,020 bytes.`);
    }
    if (step === 7) {
      const done = event('resolved', 'n2', 'n1', first, end, { lost_before: 0, lost_behind: 0 }, story);
      set('n2', 'idle', end, done.event);
      say(story, `n2 was resolved at ${told(end)}: n1 on ${first} had lost_before = 0 bytes, lost_behind = 0 bytes in ${inWindow(end)}.`);
    }
    if (step === 8) set('between', 'idle', end);
    if (step === 0 || step === 3 || step === 7 || step === 8) tell('queries', { queries: view() });
    now = end;
    tell('status', status());
  };

  const view = () =>
    queries.map((query) => ({
      ...query,
      state: !query.trigger ? 'standing' : runs[query.name]?.some((run) => run.end > at(now) && run.start <= at(now)) ? 'running' : 'waiting',
      runs: runs[query.name] ?? [],
      trigger: query.trigger && {
        ...query.trigger,
        edges: phases[query.name] ? [{ node: query.parentNode, keys: 1, ...phases[query.name] }] : [],
      },
      latest: [...new Map(answers.filter((one) => one.query === query.name).map((one) => [one.node, one])).values()],
    }));

  const status = () => ({
    mode: 'controller', version: '0.1.0', now: at(now), started: at(began - PAST), ended: false, sources: [], history: true,
    broker: { state: 'connected', since: at(began - PAST), reason: null },
    nodes: [first, second].map((name, node) => ({
      name, state: 'up', seen: at(now), coverage: node === 0 ? 1 : 0.9312, window: window(now),
      packets: { received: received[node], measured: received[node] - 3 + node, not_measured: isHostile ? { [IMAGE]: 3 - node } : node ? { arp: 2 } : { arp: 2, ipv6_fragment: 1 } },
      loss: node === 0 ? {} : { imissed: 139861 },
      last: null, spool: { messages: 0, bytes: 0, dropped: 0 },
      clock: node === 0 ? { synchronised: true, max_error_ns: 1200000 } : { synchronised: null, max_error_ns: null },
      tasks: { wanted: 3, applied: node && isHostile ? null : 3, refused: node && isHostile ? `${IMAGE}: no memory is left` : null }, version: '0.1.0', sources: ['eth0'], gaps: [], missing: [], watched: 1, refused: {},
    })),
    refused: {}, faults: [], least_coverage: 0.999, alertmanagers: [], windows: { complete: 2 * (now - began + PAST), partial: 1, late: 1, lost: 0, missing: 0, doubled: 0 },
    notes: isHostile ? [{ at: at(now), text: IMAGE }] : [],
  });

  const remove = (name) => {
    if (!queries.some((query) => query.name === name)) return [404, { error: `there is no query ${name}` }];
    const child = queries.find((query) => query.trigger?.parent === name);
    if (child) return [409, { error: `${child.name} is started by ${name}: remove ${child.name} first` }];
    queries = queries.filter((query) => query.name !== name);
    return [200, { removed: [name] }];
  };

  const install = (text) => {
    if (!/^\w+\s*:\s*select\b/m.test(text)) {
      return [422, {
        error: `1 error in the text: ${text.slice(0, 40)}`,
        diagnostics: [{ severity: 'error', code: 'syntax', message: `'select' is expected, not '${text.slice(0, 30)}'`, help: "a query begins with 'select'", line: 1, column: 1 }],
      }];
    }
    const names = [...text.matchAll(/^(\w+)\s*:/gm)].map((match) => match[1]);
    queries = queries.filter(({ name }) => !names.includes(name));
    names.forEach((name) => queries.push({ ...blank(name), text }));
    return [201, { queries: names, warnings: [] }];
  };

  let advance = () => {};
  if (!isEmpty) {
    const silent = tell;
    tell = () => {};
    for (let end = began - PAST; end <= began; end += 1) play(end === began - 100 ? -30 : end === began - 60 ? -20 : -1, end);
    tell = silent;
    let end = began;
    advance = () => {
      end += 1;
      play(((end - began - after + ROUND * 1000) % ROUND) - (end - began < after ? ROUND : 0), end);
    };
    setInterval(advance, 1000);
  }
  return { answers, events, stories, status, queries: view, install, remove, advance: () => advance() };
}

const blank = (name) => ({
  name, text: '', definitions: [], file: 'page.eq', class: 'row', nodes: [], every_ns: SECOND, over_ns: SECOND, columns: TOTALS, trigger: null, parentNode: null,
});

function read(first, second, isHostile) {
  const source = readFileSync(new URL('../../examples/locate.eq', import.meta.url), 'utf8');
  const text = (name) => {
    const found = new RegExp(`^${name}:[^;]*;`, 'm').exec(source)?.[0] ?? `${name}: select 1;`;
    return isHostile ? `${found} -- ${IMAGE} </script><script>alert(2)</script>` : found;
  };
  const trigger = (parent, condition, columns, run = null) => ({
    parent, condition, for_ns: 0, run_ns: run, cooldown_ns: 0, until: null,
    thresholds: columns.map((column) => ({ column, comparison: '>', value: 0 })), edges: [],
  });
  const query = (name, node, columns, started = null, parentNode = null) => ({
    ...blank(name), text: text(name), definitions: DEFINITIONS.filter((line) => text(name).includes(line.split(' ')[1])), file: 'examples/locate.eq', nodes: [node], columns, trigger: started, parentNode,
    class: columns === FLOWS ? 'zoom' : 'row',
  });
  return [
    query('n1', first, TOTALS),
    query('before', first, FLOWS, trigger('n1', 'n1.lost_before > Tolerated', ['lost_before']), first),
    query('n2', second, TOTALS, trigger('n1', 'n1.lost_behind > Tolerated and n1.lost_before <= Tolerated', ['lost_behind'], 5 * SECOND), first),
    query('between', second, FLOWS, trigger('n2', 'n2.lost_before > Tolerated', ['lost_before']), second),
    query('behind', second, FLOWS, trigger('n2', 'n2.lost_behind > Tolerated and n2.lost_before <= Tolerated', ['lost_behind']), second),
  ];
}
