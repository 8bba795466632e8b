// Silences the newest story of a server for a time, and fails if the page, the API and another page do not say so.
//
//   node check/silence.mjs URL [--screenshots FOLDER]
//
// By keyboard alone. It is ended in the end. It changes the server: not part of check/page.mjs. Prints a line of JSON.

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, ...rest] = process.argv.slice(2);
const base = url?.replace(/\/+$/, '');
if (!base) {
  console.error('usage: node check/silence.mjs URL [--screenshots FOLDER]');
  process.exit(2);
}
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const NOTE = 'a planned test <b>&amp;';
const failures = [];
const expect = (holds, text) => holds || failures.push(text);
const api = async (path) => (await fetch(`${base}/api/v1${path}`)).json();

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const [{ id }] = (await api('/stories?limit=1')).stories;
  const path = `/stories/${encodeURIComponent(id)}`;
  const open = async (path, width = 1280) => {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    page.on('console', (message) => message.type() === 'error' && failures.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
    await page.goto(base + path);
    return page;
  };
  const [page, other] = [await open(path), await open(path, 400)];
  await other.waitForSelector('.silence[data-silent=false]');
  await page.selectOption('.silence select', '4h');
  await page.focus('.silence input');
  await page.keyboard.type(NOTE);
  await page.keyboard.press('Enter');
  for (const each of [page, other]) {
    await each.waitForSelector('.silence[data-silent=true] .note');
    expect((await each.textContent('.silence .note')).trim() === NOTE, 'the note is not shown letter by letter');
  }
  const { silence } = await api(path);
  const hours = (Date.parse(silence.until) - Date.parse(silence.at)) / 3_600_000;
  expect(silence.note === NOTE && Math.abs(hours - 4) < 0.01, `the API has ${JSON.stringify(silence)}`);
  if (screenshots) {
    await page.screenshot({ path: `${screenshots}/silent-1280.png`, fullPage: true });
    await other.screenshot({ path: `${screenshots}/silent-400.png`, fullPage: true });
  }
  const wide = await other.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 0, `${wide} pixels scroll sideways`);
  await other.goto(`${base}/events`);
  await other.locator('[data-silences] a').first().waitFor();
  if (screenshots) await other.screenshot({ path: `${screenshots}/silences-400.png` });
  await page.click('text=End it now');
  await page.waitForSelector('.silence[data-silent=false]');
  await other.locator('[data-silences]').waitFor({ state: 'detached' });
  expect(Date.parse((await api(path)).silence.until) <= Date.now(), 'the API still has it');
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ url: base, failures }));
process.exit(failures.length === 0 ? 0 : 1);
