// Looks at the page as a browser shows it, and fails if it is not right.
//
//   node check/page.mjs URL [--await-event SECONDS [--ready FILE]] [--remembers] [--screenshots FOLDER]
//
// Every view, at 1280 and 400 pixels, light and dark: no error, no violation of the content security policy, no request that
// fails, nothing that scrolls sideways, nothing that axe calls serious. With --await-event: a new event is on the page at most 2 s
// after the API has it; FILE is made when the page is open and waits. --remembers: nodes have stores, so that
// Explore and Flow must have figures. Stories are the API's text, letter by letter. Prints a line of JSON.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { playDry } from './dry_run.mjs';
import { lookAtEditor } from './editor.mjs';
import { awaitEvent } from './event.mjs';
import { explore, flowPath, remembers } from './explore.mjs';
import { isShown } from './text.mjs';

const ARGUMENTS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const [url, ...rest] = process.argv.slice(2);
if (!url || url.startsWith('-')) {
  console.error('usage: node check/page.mjs URL [--await-event SECONDS [--ready FILE]] [--remembers] [--screenshots FOLDER]');
  process.exit(2);
}
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : null);
const seconds = Number(option('--await-event') ?? 0);
const ready = option('--ready');
const screenshots = option('--screenshots');
const base = url.replace(/\/+$/, '');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const api = async (path) => (await fetch(`${base}/api/v1${path}`)).json();
api.base = base;

const failures = [];
const fail = (text) => failures.includes(text) || failures.push(text);
const result = { url: base, views: 0, stories: 0, event: null, failures };
if (screenshots) mkdirSync(screenshots, { recursive: true });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGUMENTS });
try {
  // First: what is awaited may happen once.
  if (seconds > 0) {
    const page = await open(1280, 'light');
    result.event = await awaitEvent({ page, base, api, seconds, fail, ready });
    await page.context().close();
  }
  // Stores have rows ten seconds after they were measured.
  for (let tries = 0; rest.includes('--remembers') && tries < 120 && !(await remembers(api)); tries += 1) await new Promise((done) => setTimeout(done, 500));
  for (const width of [1280, 400]) {
    for (const scheme of ['light', 'dark']) await look(width, scheme);
  }
  await sayStories();
  result.explored = await explore({ open, base, api, fail });
  if (rest.includes('--remembers') && !result.explored) fail('Explore has no figures, and nodes have stores');
} catch (error) {
  fail(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify(result));
process.exit(failures.length === 0 ? 0 : 1);

/** `expected`: statuses that are no failure. */
async function open(width, colorScheme, expected = []) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: false });
  const page = await context.newPage();
  const isExpected = (text) => expected.some((status) => text.includes(`status of ${status}`));
  page.on('console', (message) => message.type() === 'error' && !isExpected(message.text()) && !isNowhere(message.location().url) && !isUntold(message.location().url) && fail(`console: ${message.text()}`));
  page.on('pageerror', (error) => fail(`error on the page: ${error.message}`));
  page.on('dialog', (dialog) => (fail(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') fail(`request failed: ${request.url()} ${reason}`);
  });
  page.on('response', (response) => response.status() >= 400 && !isNowhere(response.url()) && !isUntold(response.url()) && !expected.includes(response.status()) && fail(`${response.status()} ${response.url()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith('data:')) fail(`loads from elsewhere: ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (violation) => {
      console.error(`CSP: ${violation.violatedDirective} ${violation.blockedURI} ${violation.sourceFile}:${violation.lineNumber}`);
    });
  });
  return page;
}

async function views() {
  const { stories } = await api('/stories?limit=1');
  const { queries } = await api('/queries');
  const { nodes } = await api('/nodes');
  return [
    { name: 'now', path: '/' },
    { name: 'chain', path: '/chain' },
    { name: 'events', path: '/events' },
    { name: 'fired', path: '/events?kind=fired' },
    { name: 'queries', path: '/queries' },
    ...(queries.length ? [{ name: 'query', path: `/queries?query=${encodeURIComponent(queries[0].name)}` }] : []),
    ...(stories.length ? [{ name: 'story', path: `/stories/${encodeURIComponent(stories[0].id)}` }] : []),
    { name: 'explore', path: '/explore' },
    { name: 'explore-lines', path: '/explore?view=lines&compare=same&by=src_addr,dst_port' },
    { name: 'explore-table', path: '/explore?view=table&by=src_addr,dst_addr,src_port,dst_port,protocol&top=5' },
    { name: 'explore-all', path: '/explore?by=' },
    { name: 'explore-picker', path: '/explore', act: openPicker },
    { name: 'explore-tip', path: '/explore', act: readChart },
    { name: 'flow', path: '/flow' },
    { name: 'flow-one', path: await flowPath(api) },
    { name: 'host', path: hostPath(await flowPath(api)) },
    { name: 'host-none', path: '/host/2001:db8:dead::beef' },
    { name: 'found', path: '/events', act: search },
    { name: 'nodes', path: '/nodes' },
    ...(nodes.length ? [{ name: 'node', path: `/nodes?node=${encodeURIComponent(nodes[0].name)}` }] : []),
    { name: 'now-by-port', path: '/?by=port&unit=packets' },
    { name: 'nowhere', path: '/nowhere' },
  ];
}

/** The times of Explore, where it can be asked. */
async function openPicker(page) {
  const picker = page.locator('details.pick summary');
  if (await picker.count()) await picker.click();
}

/** A chart as the arrow keys read it. */
async function readChart(page) {
  const chart = page.locator('[role=slider]').first();
  if (!(await chart.count())) return;
  await chart.focus();
  await page.keyboard.press('End');
  await page.waitForSelector('[data-tip]', { timeout: 5000 }).catch(() => fail('a chart has no answer to a key'));
}

/** The sender of a flow. */
function hostPath(flow) {
  return `/host/${new URLSearchParams(flow.split('?')[1]).get('src')}`;
}

/** The search box, as its key opens it. */
async function search(page) {
  await page.keyboard.press('/');
  await page.keyboard.type('e');
  await page.waitForSelector('#found [role=option]', { timeout: 5000 }).catch(() => fail('the search box finds nothing'));
}

/** A path that there is not: the page comes with status 404. */
function isNowhere(url) {
  return url === `${base}/nowhere`;
}

/** What the traffic does is not kept everywhere: the page asks, and is told so. */
function isUntold(url) {
  return /\/api\/v1\/(now|unusual)(\?|$)/.test(url);
}

async function look(width, scheme) {
  const page = await open(width, scheme);
  for (const { name, path, act } of await views()) {
    const here = `${name} at ${width} ${scheme}`;
    const response = await page.goto(base + path, { waitUntil: 'load' });
    const policy = response?.headers()['content-security-policy'] ?? '';
    if (!policy.includes("default-src 'none'") || policy.includes('unsafe')) fail(`${path}: the content security policy is weak: ${policy}`);
    await page.waitForSelector('h1', { timeout: 10_000 }).catch(() => fail(`${here}: no headline`));
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'), null, { timeout: 40_000 }).catch(() => fail(`${here}: still asking`));
    await page.waitForTimeout(400);
    if (act) await act(page);
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    if (inner > outer) fail(`${here}: scrolls sideways, ${inner} of ${outer} pixels`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/${name}-${width}-${scheme}.png`, fullPage: true });
    await judge(page, here);
    result.views += 1;
  }
  const here = `editor at ${width} ${scheme}`;
  const picture = async (name) => screenshots && page.screenshot({ path: `${screenshots}/editor-${name}-${width}-${scheme}.png` });
  const about = { page, base, api, fail, here, judge: (at) => judge(page, at), picture };
  await playDry(about);
  await lookAtEditor(about);
  result.views += 1;
  await page.context().close();
}

/** axe, in a world of its own: the page's policy forbids strangers' scripts. */
async function judge(page, here) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  await session.send('Runtime.evaluate', { expression: `${axe};0`, contextId });
  const { result: found, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((all) => JSON.stringify(all.violations.map((one) =>
      [one.id, one.impact, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120))])))`,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  if (exceptionDetails) return fail(`${here}: axe does not run: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  for (const [id, impact, nodes] of JSON.parse(found.value)) {
    if (['serious', 'critical'].includes(impact)) fail(`${here}: axe ${id} (${impact}): ${nodes.join(' ')}`);
  }
}

async function sayStories() {
  const page = await open(1280, 'light');
  const { stories } = await api('/stories?limit=3');
  for (const { id } of stories) {
    await page.goto(`${base}/stories/${encodeURIComponent(id)}`);
    const why = await isShown(page, async () => {
      const { text, events } = await api(`/stories/${encodeURIComponent(id)}`);
      return [
        { selector: `[data-story="${id}"]`, text, isWhole: true },
        ...events.slice(0, 20).map(({ event, query }) => ({ selector: `[data-event="${event}"]`, text: query, isWhole: false })),
      ];
    });
    if (why) fail(`story ${id}: ${why}`);
    result.stories += 1;
  }
  await page.context().close();
}
