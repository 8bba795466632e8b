// That a thousand nodes are a page of bounded size, which takes little of the main thread, and that each of them is found.
//
//   node check/nodes.mjs [URL] [--screenshots FOLDER]
//
// Without a URL it starts the mock with a thousand nodes (mock/many.mjs). Prints a line of JSON: what was measured, and what is wrong. Times decide
// nothing: the goal (`most_ms`) stands beside them.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const rest = process.argv.slice(2);
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const COUNT = 1000;
const [MOST_PIXELS, MOST_ELEMENTS, MOST_MS] = [2000, 2500, 50];
/** How long the main thread is watched. */
const WATCHED_S = 8;
const failures = [];
const measured = {};
const expect = (holds, text) => holds || failures.push(text);

let base = rest[0] && !rest[0].startsWith('--') ? rest[0].replace(/\/+$/, '') : null;
const server = base ? null : spawn(process.execPath, [fileURLToPath(new URL('../mock/server.mjs', import.meta.url)), '--port', '0', '--nodes', String(COUNT)], { stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  base ??= await new Promise((done) => server.stdout.on('data', (data) => done(/http:\/\/[\d.:]+/.exec(String(data))[0])));
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  /** Seconds of a processor that tasks of the main thread took. */
  const busy = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;

  for (const [name, path] of [['now', '/'], ['nodes', '/nodes']]) {
    await page.goto(base + path);
    await page.waitForSelector(name === 'now' ? '.headline' : '[data-node]');
    await page.waitForTimeout(2500);
    const [high, elements, wide] = await page.evaluate(() => [document.documentElement.scrollHeight, document.querySelectorAll('*').length, document.documentElement.scrollWidth - document.documentElement.clientWidth]);
    const before = await busy();
    await page.waitForTimeout(WATCHED_S * 1000);
    const ms = Math.round((((await busy()) - before) / WATCHED_S) * 1000);
    measured[name] = { pixels: high, elements, main_thread_ms_per_s: ms };
    expect(high < MOST_PIXELS, `${name} is ${high} pixels high`);
    expect(elements < MOST_ELEMENTS, `${name} has ${elements} elements`);
    expect(wide <= 0, `${name} scrolls sideways`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/many-${name}.png`, fullPage: true });
  }
  expect(/970 of 1,000 nodes are up; 19 are late, 11 are down, 7 do not see all, 3 have trouble/.test(await page.innerText('h1')), `the nodes are counted wrong: ${await page.innerText('h1')}`);

  // The worst first; all of them come into sight, and no more are drawn than are seen.
  const states = () => page.locator('[data-node] td:nth-child(2)').allInnerTexts();
  expect((await states()).slice(0, 11).every((state) => state.trim() === 'down'), `the worst are not first: ${(await states()).join()}`);
  const seen = new Set();
  const box = page.locator('[aria-label=Nodes][role=region]');
  await box.focus();
  for (let tries = 0; tries < 120 && seen.size < COUNT; tries += 1) {
    const names = await page.locator('[data-node]').evaluateAll((rows) => rows.map((row) => row.dataset.node));
    names.forEach((name) => seen.add(name));
    expect(names.length < 60, `${names.length} rows are drawn`);
    await page.keyboard.press('PageDown');
    await page.waitForTimeout(120);
  }
  expect(seen.size === COUNT, `the keyboard reaches ${seen.size} nodes`);

  // Search, states, groups and sites are in the address.
  await page.goto(`${base}/nodes`);
  await page.getByLabel('Find a node').fill('tok-edge-12');
  await page.waitForFunction(() => location.search === '?find=tok-edge-12');
  const found = await page.locator('[data-node]').evaluateAll((rows) => rows.map((row) => row.dataset.node));
  expect(found.length > 0 && found.every((name) => name.startsWith('tok-edge-12')), `a search finds ${found.join()}`);
  await page.goto(`${base}/nodes?state=trouble&group=site`);
  await page.waitForSelector('tr.group');
  const groups = await page.locator('tr.group').allInnerTexts();
  expect(groups.length >= 1 && /\d+ (down|late)/.test(groups[0]) && !groups.some((text) => / up/.test(text)), `groups of trouble are ${groups.join('; ')}`);
  await page.goto(`${base}/nodes`);
  await page.getByRole('link', { name: 'Tokyo' }).first().click();
  await page.waitForFunction(() => location.search === '?site=Tokyo');
  const rows = await page.locator('[data-node]').evaluateAll((rows) => rows.map((row) => row.dataset.node));
  expect(rows.every((name) => name.startsWith('tok-')), `the site shows ${rows.join()}`);
  // All of one node.
  await page.goto(`${base}/nodes?node=ams-edge-9`);
  await page.waitForSelector('[aria-label="One node"]');
  expect(/ams-edge-9.*late/s.test(await page.innerText('[aria-label="One node"]')), 'a node by itself does not say its state');
  await page.setViewportSize({ width: 400, height: 900 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 0, 'nodes scroll sideways at 400 pixels');
  if (screenshots) await page.screenshot({ path: `${screenshots}/many-400.png`, fullPage: true });
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
  server?.kill();
}
console.log(JSON.stringify({ url: base, most_ms: MOST_MS, ...measured, failures }));
process.exit(failures.length === 0 ? 0 : 1);
