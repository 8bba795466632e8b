// How fast the page is: `scripts/page-speed`. Times never decide, what is shown does.
//
//   node check/speed.mjs URL [--hour] [--chart]
//
// The first view: from the call of the address to what answers. --chart: Explore over a day in windows of ten seconds and ten groups
// (mock/day.mjs), from the making of a chart to the end of its draw hook, and until its pixels are there. --hour: the heap
// after each of four hours of messages (mock/locate.mjs plays them). Prints a line of JSON.

import { chromium } from 'playwright-core';

const [url, ...rest] = process.argv.slice(2);
if (!url || url.startsWith('-')) {
  console.error('usage: node check/speed.mjs URL [--hour] [--chart]');
  process.exit(2);
}
const base = url.replace(/\/+$/, '');
const failures = [];
const result = { url: base, failures };
const WAIT = { timeout: 120_000 };
const rounded = (ms) => Math.round(ms * 10) / 10;
const median = (all) => rounded([...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]);
const spread = (all) => ({ median: median(all), least: rounded(Math.min(...all)), most: rounded(Math.max(...all)) });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  result.first_view_ms = await firstViews();
  if (rest.includes('--chart')) result.charts = await charts();
  if (rest.includes('--hour')) result.heap = await hour();
} catch (error) {
  failures.push(`the measurement stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify(result));
process.exit(failures.length === 0 ? 0 : 1);

/** Of each view, in a browser that has nothing of the page. */
async function firstViews() {
  const views = { now: '/', chain: '/chain', events: '/events', queries: '/queries', explore: '/explore' };
  const found = {};
  for (const [name, path] of Object.entries(views)) {
    const times = [];
    for (let round = 0; round < 5; round += 1) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      // From the begin of the navigation to the frame that has the answer.
      await page.addInitScript(() => {
        const look = () => {
          if (document.querySelector('main h1') && !document.querySelector('main [aria-busy=true]')) requestAnimationFrame(() => setTimeout(() => (window.shownAt ??= performance.now())));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      await page.goto(base + path);
      await page.waitForFunction(() => window.shownAt, null, WAIT);
      times.push(await page.evaluate(() => window.shownAt));
      if (name === 'now') {
        const { nodes } = await (await fetch(`${base}/api/v1/nodes`)).json();
        const shown = await page.textContent('main');
        for (const node of nodes) if (!shown.includes(node.name)) failures.push(`the first view has no ${node.name}`);
      }
      await context.close();
    }
    found[name] = spread(times);
  }
  return found;
}

/** Where a chart ends its measure, its pixels are asked for: what was recorded is drawn then, in the same task. */
function readPixels() {
  const measure = performance.measure.bind(performance);
  performance.measure = (name, options) => {
    const entry = measure(name, options);
    const begin = performance.now();
    const canvas = document.querySelector('[aria-label="Over time"] canvas');
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    let drawn = 0;
    for (let at = 3; at < data.length; at += 4) drawn += data[at] !== 0;
    window.chart = { script: entry.duration, pixels: performance.now() - begin, share: drawn / (width * height) };
    return entry;
  };
}

async function charts() {
  const found = {};
  for (const scale of [1, 2]) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, deviceScaleFactor: scale });
    const page = await context.newPage();
    await page.addInitScript(readPixels);
    for (const view of ['lines', 'area']) {
      const times = { script: [], pixels: [], frame: [] };
      await page.goto(`${base}/explore?from=-1d&every=10s&view=table`);
      await page.waitForSelector('main [aria-busy=false] [aria-label="Over time"] table', WAIT);
      const names = await page.locator('[aria-label="Over time"] thead th').count();
      if (names < 12) failures.push(`the chart has ${names - 2} series, not ten`);
      for (let round = 0; round < 9; round += 1) {
        const { script, pixels, share, frame } = await page.evaluate(async (view) => {
          const click = (name) => [...document.querySelectorAll('button')].find((one) => one.textContent.trim() === name).click();
          const nextFrame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          click('table');
          await nextFrame();
          window.chart = null;
          const begin = performance.now();
          click(view);
          while (!window.chart) await new Promise((done) => setTimeout(done));
          await nextFrame();
          return { ...window.chart, frame: performance.now() - begin };
        }, view);
        times.script.push(script);
        times.pixels.push(pixels);
        times.frame.push(frame);
        if (share < 0.02) failures.push(`${view}: the chart has no lines`);
      }
      found[`${view} at ${scale}`] = { script_ms: spread(times.script), pixels_ms: spread(times.pixels), click_to_frame_ms: spread(times.frame) };
    }
    await context.close();
  }
  return found;
}

/** The heap of a page that is told an hour: of each view that lives on the stream. */
async function hour() {
  const SECONDS = 3600;
  const found = {};
  for (const [name, path] of Object.entries({ now: '/', chain: '/chain', events: '/events' })) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
    const session = await context.newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      const { nodes } = await session.send('Memory.getDOMCounters');
      return { kib: Math.round(usedSize / 1024), nodes };
    };
    await page.goto(base + path);
    await page.waitForSelector('h1', WAIT);
    // Lists are full after the first hour: what grows in the next ones would not end.
    const heaps = [];
    for (let round = 0; round < 4; round += 1) {
      const { events } = await (await fetch(`${base}/mock/play?seconds=${SECONDS}`)).json();
      const { events: newest } = await (await fetch(`${base}/api/v1/events?limit=1`)).json();
      if (!events) failures.push('no event was played');
      // The last word of the hour is on the page.
      if (name !== 'chain') await page.locator(`[data-event="${newest[0].event}"]`).first().waitFor(WAIT).catch(() => failures.push(`${name}: the newest event does not come`));
      heaps.push(await settled(page, heap));
    }
    found[name] = heaps;
    await context.close();
  }
  return found;
}

/** An hour came in seconds: the page has still to draw it. */
async function settled(page, heap) {
  let before = await heap();
  for (let tries = 0; tries < 30; tries += 1) {
    await page.waitForTimeout(2000);
    const now = await heap();
    if (Math.abs(now.kib - before.kib) < before.kib / 20) return now;
    before = now;
  }
  return before;
}
