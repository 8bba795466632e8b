// Acknowledges the newest story of a server, and fails if the page, the API and another page do not say so.
//
//   node check/acknowledge.mjs URL
//
// By keyboard alone. The other page, which is open meanwhile, follows by the stream; the list of events leaves it out where it is asked to;
// what was said is withdrawn in the end. It changes the server: not part of check/page.mjs. Prints a line of JSON.

import { chromium } from 'playwright-core';

const base = process.argv[2]?.replace(/\/+$/, '');
if (!base) {
  console.error('usage: node check/acknowledge.mjs URL');
  process.exit(2);
}
const NOTE = 'told the provider <b>&amp;';
const failures = [];
const expect = (holds, text) => holds || failures.push(text);
const api = async (path) => (await fetch(`${base}/api/v1${path}`)).json();

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const [{ id, query }] = (await api('/stories?limit=1')).stories;
  const path = `/stories/${encodeURIComponent(id)}`;
  const open = async (path) => {
    const page = await browser.newPage();
    page.on('console', (message) => message.type() === 'error' && failures.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
    await page.goto(base + path);
    return page;
  };
  const [page, other] = [await open(path), await open(path)];
  await other.waitForSelector('text=Nobody has acknowledged this story.');
  await page.focus('.acknowledge input');
  await page.keyboard.type(NOTE);
  await page.keyboard.press('Enter');
  for (const each of [page, other]) {
    await each.waitForSelector('.acknowledge[data-seen=true] .note');
    expect((await each.textContent('.acknowledge .note')).trim() === NOTE, 'the note is not shown letter by letter');
  }
  const { acknowledged, events } = await api(path);
  expect(acknowledged.note === NOTE && Number(acknowledged.events) === events.length, `the API has ${JSON.stringify(acknowledged)}`);
  await other.goto(`${base}/events?query=${encodeURIComponent(query)}`);
  const first = other.locator(`[data-event="${id}"]`);
  await first.locator('.tag', { hasText: 'seen' }).waitFor();
  await other.focus('input[type=checkbox]');
  await other.keyboard.press('Space');
  await first.waitFor({ state: 'detached' });
  expect(new URL(other.url()).searchParams.get('seen') === 'no', 'the choice is not in the address');
  await page.click('text=Withdraw');
  await page.waitForSelector('text=Nobody has acknowledged this story.');
  await first.waitFor();
  expect((await api(path)).acknowledged === null, 'the API still has it');
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ url: base, failures }));
process.exit(failures.length === 0 ? 0 : 1);
