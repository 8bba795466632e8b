// Serves page/dist and answers as a controller would, from fixtures that play. For development and for the page's own checks.
//
// `/mock/play` and `/mock/away` are the fixture's own: see `control`.
//
//   node mock/server.mjs [--port 8090] [--after SECONDS] [--run | --taps | --hostile | --empty | --day | --states | --live | --calm | --nodes N] [--old | --young] [--prefix /PATH]

import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { capture } from './capture.mjs';
import { day } from './day.mjs';
import { change } from './change.mjs';
import { history } from './history.mjs';
import { checked, language } from './language.mjs';
import { live } from './live.mjs';
import { locate } from './locate.mjs';
import { many } from './many.mjs';
import { traffic } from './now.mjs';
import { states } from './states.mjs';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

const words = process.argv.slice(2);
const option = (name, other) => (words.includes(name) ? Number(words[words.indexOf(name) + 1]) : other);
const port = option('--port', 8090);
/** As a reverse proxy that takes it away. */
const prefix = words.includes('--prefix') ? words[words.indexOf('--prefix') + 1] : '';

/** A capture; with `--taps` of three nodes. */
const isRun = words.includes('--run') || words.includes('--taps');

const streams = new Set();
const tell = (name, data) => streams.forEach((stream) => stream.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
const ofDay = words.includes('--day') ? day({ tell }) : null;
const played = ofDay?.played ?? (isRun
  ? capture({ isTapped: words.includes('--taps') })
  : words.includes('--states')
  ? states({ tell })
  : words.includes('--live') || words.includes('--calm')
  ? live({ tell, loss: words.includes('--calm') ? 0 : undefined })
  : words.includes('--nodes')
  ? many({ tell, count: option('--nodes', 1000) })
  : locate({ tell, after: option('--after', 5), isHostile: words.includes('--hostile'), isEmpty: words.includes('--empty') }));

const remembered = ofDay?.remembered ?? history({ nodes: played.status().nodes.map(({ name }) => name), isHostile: words.includes('--hostile'), isEmpty: words.includes('--empty'), isOld: words.includes('--old'), isYoung: words.includes('--young') });

/** What the traffic does; not of fixtures that say nothing of it. */
function trafficOf() {
  const { nodes, span } = played.status();
  const names = nodes.map(({ name }) => name);
  if (isRun) return traffic({ kind: 'capture', nodes: names, begin: Date.parse(span.start) / 1000, end: Date.parse(span.end) / 1000, account: played.account(), accountOf: played.account, stops: names.slice(1) });
  if (words.includes('--states') || words.includes('--empty') || ofDay) return null;
  const account = played.account?.() ?? { received: 3_900_000, measured: 3_899_932, not_measured: { arp: 68 }, lost: { imissed: 0 }, coverage: 1 };
  const isLive = words.includes('--live');
  return traffic({ kind: 'live', nodes: names, account, gap: isLive ? [] : [20, 21], part: isLive ? null : 30, isCalm: words.includes('--calm') });
}

const json = (response, status, body) => {
  response.writeHead(status, { ...headers(), 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
};
const headers = () => ({
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
});

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (!url.pathname.startsWith(`${prefix}/`)) return json(response, 404, { error: 'nothing of Edison is here' });
  url.pathname = url.pathname.slice(prefix.length);
  if (url.pathname.startsWith('/mock/')) return control(url, response);
  if (!url.pathname.startsWith('/api/')) return page(url.pathname, response);
  const path = url.pathname.replace('/api/v1', '');
  const ask = (name) => url.searchParams.get(name);
  const newest = (list, other) => list.slice(-Number(ask('limit') ?? other));
  const isOf = ({ window, at }) => (window && !at ? (!ask('since') || window.end > ask('since')) && (!ask('until') || window.start < ask('until')) : true);
  const fits = (one) => ['query', 'node', 'kind'].every((name) => !ask(name) || one[name] === ask(name)) && isOf(one);
  if (path === '/stream') return stream(request, response);
  if (path === '/session') return json(response, 200, { name: null, role: 'admin' });
  if (path === '/status') return json(response, 200, played.status());
  if (path === '/now' || path === '/unusual') {
    const found = trafficOf();
    const node = ask('node');
    if (!found || (node && !played.status().nodes.some(({ name }) => name === node))) return json(response, 404, { error: found ? `there is no node ${node}` : 'nothing is kept here of what the traffic does' });
    return json(response, 200, path === '/now' ? found.answer(url.searchParams) : found.unusual());
  }
  if (path === '/nodes') return json(response, 200, { nodes: played.status().nodes });
  if (path === '/answers') return answers(newest(played.answers.filter(fits), 100).map((one) => listed(one, Number(ask('rows') ?? Infinity))), ask('format'), response);
  if (path === '/events') return json(response, 200, { events: newest(played.events.filter(fits), 100) });
  if (path === '/stories') return json(response, 200, { stories: newest(played.stories, 100).map(short).reverse() });
  if (path === '/silences') return json(response, 200, { silences: played.stories.filter(({ silence }) => silence).map(({ id, text, query, node, silence }) => ({ story: id, title: text.split('\n')[0], query, node, holds: Date.parse(silence.until) > Date.now(), ...silence })) });
  if (path.endsWith('/silence')) return silence(request, path, ask('for'), response);
  if (path.endsWith('/acknowledgement')) return acknowledge(request, path, ask('events'), response);
  if (path.startsWith('/stories/')) return story(decodeURIComponent(path.slice(9)), response);
  if (path === '/language') return json(response, 200, language(played));
  if (path === '/check' && request.method === 'POST') return check(request, response, ask('file') || 'query');
  if (path === '/queries' && request.method === 'POST') return install(request, response);
  if (path === '/queries') return json(response, 200, { queries: played.queries() });
  if (path === '/history' && request.method === 'POST') return asked(request, response);
  if (path === '/change' && request.method === 'POST') return changed(request, response, url.searchParams);
  if (path === '/dry-run' && request.method === 'POST') return dryRun(request, response, ask('from'), ask('to'));
  if (path.startsWith('/queries/') && request.method === 'DELETE') {
    const [status, body] = played.remove(decodeURIComponent(path.slice(9)));
    if (status === 200) tell('queries', { queries: played.queries() });
    return json(response, status, body);
  }
  json(response, 404, { error: `there is no ${path}` });
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${prefix}/`));

/** What only a fixture can do: `/mock/play?seconds=` plays so many seconds at once, `/mock/away?ms=&seconds=` is gone meanwhile. */
async function control(url, response) {
  const [seconds, ms] = ['seconds', 'ms'].map((name) => Number(url.searchParams.get(name) ?? 0));
  if (url.pathname === '/mock/play') {
    await play(seconds);
    return json(response, 200, { events: played.events.length });
  }
  if (url.pathname !== '/mock/away') return json(response, 404, { error: 'play or away' });
  json(response, 200, {});
  const { port } = server.address();
  server.close();
  setTimeout(() => server.closeAllConnections(), 20);
  streams.clear();
  await play(seconds);
  setTimeout(() => server.listen(port, '127.0.0.1'), ms);
}

function drained(stream) {
  return new Promise((done) => {
    const end = () => done(stream.off('drain', end).off('close', end));
    stream.on('drain', end).on('close', end);
  });
}

/** As fast as the streams take it. */
async function play(seconds) {
  for (let second = 0; second < seconds; second += 1) {
    played.advance();
    await Promise.all([...streams].map((stream) => stream.writableNeedDrain && drained(stream)));
    if (second % 20 === 19) await new Promise((done) => setTimeout(done));
  }
}

/** The first rows; the sums of the others are not those of their rows here. */
const listed = (answer, most) => (answer.rows.length > most ? { ...answer, rows: answer.rows.slice(0, most), rest: { ...answer.rest, groups: answer.rest.groups + answer.rows.length - most } } : answer);
const short = ({ id, title = null, text, at, query, node, events, acknowledged = null, silence = null }) => ({ id, title, text, at, query, node, events_total: events.length, acknowledged, silence });

function page(path, response) {
  const file = normalize(join(DIST, path));
  const isFile = file.startsWith(DIST) && existsSync(file) && statSync(file).isFile();
  const isView = /^\/(chain|events|queries|explore|flow|nodes|host\/[\da-f.:%]+|stories\/[^/]+)?\/?$/i.test(path);
  if (!isFile && extname(path) && !isView) return json(response, 404, { error: 'no such file' });
  const found = isFile ? file : join(DIST, 'index.html');
  const type = { 'content-type': TYPES[extname(found)] ?? 'application/octet-stream' };
  if (found.endsWith('index.html')) {
    const nonce = randomBytes(16).toString('hex');
    const policy = CSP.replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`);
    response.writeHead(isFile || isView ? 200 : 404, { ...headers(), ...type, 'content-security-policy': policy, 'cache-control': 'no-store' });
    return response.end(readFileSync(found, 'utf8').replace('NONCE-OF-THIS-RESPONSE', nonce).replaceAll('="./', `="${'../'.repeat(path.split('/').length - 2) || './'}`));
  }
  response.writeHead(200, { ...headers(), ...type });
  createReadStream(found).pipe(response);
}

function stream(request, response) {
  response.writeHead(200, { ...headers(), 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  streams.add(response);
  request.on('close', () => streams.delete(response));
  response.write(`event: status\ndata: ${JSON.stringify(played.status())}\n\n`);
  response.write(`event: queries\ndata: ${JSON.stringify({ queries: played.queries() })}\n\n`);
}

function answers(found, format, response) {
  if (format !== 'csv') return json(response, 200, { answers: found });
  const columns = (found[0]?.columns ?? []).map(({ name }) => name);
  const rows = found.flatMap((answer) =>
    answer.rows.map((row) =>
      [answer.node, answer.window?.start, answer.window?.end, answer.status, answer.coverage, ...columns.map((name) => row[name])].join(','),
    ),
  );
  response.writeHead(200, { ...headers(), 'content-type': 'text/csv; charset=utf-8' });
  response.end(['node,window_start,window_end,status,coverage,' + columns.join(','), ...rows, ''].join('\n'));
}

function story(id, response) {
  const found = played.stories.find((one) => one.id === id || one.events.includes(id));
  if (!found) return json(response, 404, { error: `there is no story ${id}` });
  const events = found.events.map((event) => played.events.find((one) => one.event === event)).filter(Boolean);
  // One that is here, and one that is not, for a reason in a stranger's words.
  const captures = events.slice(0, 1).flatMap(({ event, node, query }) =>
    ['here', query].map((reason, at) => ({
      event, node: `${node ?? 'Node1'}${at}`, query, packets: 10, bytes: 1960, dropped: at ? { capture_rate: 7 } : {},
      href: at ? null : `/api/v1/captures/${event}/${node}`, reason: at ? reason : null,
    })),
  );
  json(response, 200, { id: found.id, title: found.title ?? null, text: found.text, events, events_unlisted: 0, captures, acknowledged: found.acknowledged ?? null, silence: found.silence ?? null });
}

async function acknowledge(request, path, events, response) {
  let note = '';
  for await (const chunk of request) note += chunk;
  const found = played.stories.find(({ id }) => id === decodeURIComponent(path.split('/')[2]));
  if (!found) return json(response, 404, { error: 'there is no such story' });
  const seen = { at: new Date().toISOString().replace('Z', '000000Z'), by: 'alice', note, events: Number(events) };
  found.acknowledged = request.method === 'PUT' ? seen : null;
  const { id, text, acknowledged, silence = null } = found;
  tell('story', { id, text, events: found.events, events_unlisted: 0, acknowledged, silence });
  json(response, 200, { story: id, acknowledged });
}

const SECONDS = { h: 3600, d: 86_400 };

async function silence(request, path, lasts, response) {
  const note = await textOf(request);
  const found = played.stories.find(({ id }) => id === decodeURIComponent(path.split('/')[2]));
  if (!found) return json(response, 404, { error: 'there is no such story' });
  const time = (ms) => new Date(ms).toISOString().replace('Z', '000000Z');
  const length = Number.parseInt(lasts ?? '', 10) * SECONDS[lasts?.at(-1)] * 1000;
  if (request.method === 'PUT' && !(length > 0)) return json(response, 400, { error: 'for: how long is missing, as for=2h' });
  if (request.method === 'PUT') found.silence = { at: time(Date.now()), until: time(Date.now() + length), by: 'alice', note, fired: 0 };
  else if (found.silence) found.silence = { ...found.silence, until: time(Date.now()) };
  const { id, text, acknowledged = null } = found;
  tell('story', { id, text, events: found.events, events_unlisted: 0, acknowledged, silence: found.silence ?? null });
  json(response, 200, { story: id, silence: found.silence ?? null });
}

async function changed(request, response, parameters) {
  const [status, body, after] = change(parameters, await textOf(request), remembered);
  setTimeout(() => json(response, status, body), after);
}

async function asked(request, response) {
  if (isRun) return json(response, 409, { error: 'a run answers no questions about history: edison query --store DIR asks its store' });
  let text = '';
  for await (const chunk of request) text += chunk;
  const [status, body, after] = remembered(text);
  setTimeout(() => json(response, status, body), after);
}

async function textOf(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

async function check(request, response, file) {
  json(response, 200, checked(await textOf(request), file, played));
}

/** Of queries that stand, what happened; others would have done nothing. */
async function dryRun(request, response, from, to) {
  const text = await textOf(request);
  const { diagnostics } = checked(text, 'query', played);
  if (diagnostics.some(({ severity }) => severity === 'error')) return json(response, 422, { error: diagnostics[0].message, diagnostics });
  const names = [...text.matchAll(/^\s*(\w+)\s*:/gm)].map(([, name]) => name);
  const period = { start: nanoseconds(from), end: nanoseconds(to) };
  const events = played.events.filter(({ query, at }) => names.includes(query) && period.start < at && at <= period.end);
  const own = new Set(events.map(({ event }) => event));
  const nodes = played.status().nodes.map(({ name }, at) => ({ name, windows: 3600 - at, ...(at && words.includes('--hostile') ? { missing: `refused: ${name}` } : {}) }));
  const stories = played.stories.filter((story) => story.events.some((event) => own.has(event)));
  json(response, 200, {
    period, judged: events.length || names.length ? period : null, fired: events.filter(({ kind }) => kind === 'fired').length, events, more_events: 0,
    stories: stories.map(({ id, text, events }) => ({ id, text, events, events_unlisted: 0, acknowledged: null })), nodes, warnings: [],
  });
}

const nanoseconds = (at) => new Date(at).toISOString().replace('Z', '000000Z');

async function install(request, response) {
  const text = await textOf(request);
  const [status, body] = played.install(text);
  json(response, status, body);
  if (status === 201) tell('queries', { queries: played.queries() });
}
