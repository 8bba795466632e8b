// The connection is lost while the page is looked at, and comes back: fails if the page does not say so, recover by itself, or have what
// happened meanwhile, once.
//
//   node check/away.mjs URL [--away FILE] [--screenshots FOLDER]
//
// The mock is told to be away, for a time in which it plays more answers than the page fetches at once. Of another server FILE is made, on which whoever
// started it kills and restarts it (scripts/demo --restart-when FILE), and makes events meanwhile. Prints a line of JSON.

import { mkdirSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { isShown } from './text.mjs';

const [url, ...rest] = process.argv.slice(2);
if (!url || url.startsWith('-')) {
  console.error('usage: node check/away.mjs URL [--away FILE] [--screenshots FOLDER]');
  process.exit(2);
}
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : null);
const [file, screenshots] = [option('--away'), option('--screenshots')];
const base = url.replace(/\/+$/, '');
const WAIT = { timeout: 90_000 };
/** More than the answers that are fetched at once, and fewer than are kept. */
const MOCK_SECONDS = 420;
const failures = [];
const expect = (holds, text) => holds || failures.push(text);
const api = async (path) => (await fetch(`${base}/api/v1${path}`)).json();
const result = { url: base, events_meanwhile: 0, failures };
if (screenshots) mkdirSync(screenshots, { recursive: true });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const known = new Set((await api('/events?limit=200')).events.map(({ event }) => event));
  const [events, chain] = [await open('/events'), await open('/chain')];
  await chain.waitForSelector('figure figcaption', WAIT);
  if (file) writeFileSync(file, '');
  else await fetch(`${base}/mock/away?ms=1500&seconds=${MOCK_SECONDS}`);

  for (const page of [events, chain]) {
    const said = await page.waitForSelector('[data-connection=lost]', WAIT);
    expect(/does not answer since \d\d:\d\d:\d\d/.test(await said.textContent()), 'it is not said since when Edison does not answer');
  }
  expect((await events.textContent('header')).includes('Connection lost'), 'the head does not say that the connection is lost');
  if (screenshots) await events.screenshot({ path: `${screenshots}/lost.png` });

  const back = await events.waitForSelector('[data-connection=back]', WAIT);
  const [told, missed] = [await back.textContent(), Number(await back.getAttribute('data-missed'))];
  if (screenshots) await events.screenshot({ path: `${screenshots}/back.png` });
  expect(!(await events.textContent('header')).includes('Connection lost'), 'the head still says that the connection is lost');
  if (file) expect(told.includes('started again'), `that it was started again is not said: ${told}`);

  // What happened meanwhile may be told after the connection is back: a controller catches up.
  const until = Date.now() + WAIT.timeout;
  let fresh = [];
  while (fresh.length === 0 && Date.now() < until) {
    fresh = (await api('/events?limit=200')).events.filter(({ event }) => !known.has(event));
    if (!fresh.length) await events.waitForTimeout(200);
  }
  expect(fresh.length > 0, 'no event happened while the connection was lost: nothing was checked');
  result.events_meanwhile = fresh.length;
  result.told = missed;
  expect(missed <= fresh.length, `${missed} events are said to be new, of ${fresh.length}`);
  if (!file) expect(missed > 0, 'the page does not say how many events happened meanwhile');
  const why = await isShown(events, async () => (await api('/events?limit=200')).events.map(({ event, query }) => ({ selector: `[data-event="${event}"]`, text: query, isWhole: false })));
  expect(!why, `an event is not shown: ${why}`);
  const shown = await events.locator('[data-event]').evaluateAll((all) => all.map((one) => one.dataset.event));
  expect(new Set(shown).size === shown.length, 'an event is shown twice');

  // The chain goes on, and its charts have no gap where there is none.
  await chain.waitForSelector('[data-connection=back]', WAIT);
  if (!file) await whole(chain);
  const window = async () => (await api('/answers?query=n1&limit=1')).answers[0].window.end.slice(11, 19);
  const end = await window();
  await chain.waitForFunction((end) => [...document.querySelectorAll('article[aria-label=n1] .head')].some((head) => head.textContent.slice(-200).match(/\d\d:\d\d:\d\d/g)?.at(-1) >= end), end, WAIT)
    .catch(() => failures.push('the chain does not go on'));
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify(result));
process.exit(failures.length === 0 ? 0 : 1);

async function open(path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
  await page.goto(base + path);
  await page.waitForSelector('h1', WAIT);
  return page;
}

/** The history of n1 has the gaps that its answers have: what the page missed was asked for. */
async function whole(page) {
  const { answers } = await api('/answers?query=n1&limit=600');
  const gaps = answers.filter(({ window }, at) => at > 0 && window.start > answers[at - 1].window.end).length;
  const caption = page.locator('article[aria-label=n1] figcaption').first();
  const said = async () => Number(/(\d+) gaps?/.exec(await caption.textContent())?.[1] ?? 0);
  const until = Date.now() + 15_000;
  while ((await said()) !== gaps && Date.now() < until) await page.waitForTimeout(100);
  if ((await said()) !== gaps) failures.push(`the history of n1 has ${await said()} gaps, its answers ${gaps}`);
}
