// That what is empty, partial, late, unknown or missing says so in words, each in its own, in tables, charts and lists.
//
//   node check/states.mjs URL [--screenshots FOLDER]
//
// The server is the mock with --states (mock/states.mjs). Prints a line of JSON.

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, ...rest] = process.argv.slice(2);
if (!url || url.startsWith('-')) {
  console.error('usage: node check/states.mjs URL [--screenshots FOLDER]');
  process.exit(2);
}
const base = url.replace(/\/+$/, '');
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const failures = [];
const squeezed = (text) => text.replace(/\s+/g, ' ');
/** Words that must be there, and others that must not. */
function expect(where, text, words, others = []) {
  for (const word of words) if (!word.test(text)) failures.push(`${where} does not say ${word}: ${text.slice(0, 400)}`);
  for (const word of others) if (word.test(text)) failures.push(`${where} says ${word}: ${text.slice(0, 400)}`);
}

// Of each node: what its row must say.
const NODES = {
  up: [[/up/, /100 %/, /998/, /2 arp/, /synchronised/], [/not known/]],
  partial: [[/75 %/, /250 imissed/], [/100 %/]],
  late: [[/late/, /31/, /2 shortened/, /1 time not judged/, /too late/], []],
  unknown: [[/not known/, /has list 3, wanted 4/], [/100 %/, /\b0 %/]],
  unaccounted: [[/8 without a name/], []],
  down: [[/down/, /not known/], [/\bup\b/, /\/s/]],
  never: [[/never seen/, /not known/], [/%/, /synchronised/, /\b0\b/]],
};
// Of each query: its table, and the caption of its chart.
const QUERIES = {
  complete: [[/1,000/, /100 %/], [/≥/, /late/, /partial/, /unknown/], [/highest 1,000 bytes/], [/gap/, /late/, /part/, /unknown/]],
  empty: [[/Nothing fitted the query/], [/\b0\b/, /unknown/], [/highest 0 bytes/], [/gap/, /unknown/]],
  partial: [[/partial: 3 rows were refused/, /≥ 1,000/, /98\.2 %/], [], [/91 seen in part/], [/gap/]],
  cut: [[/cut: watched/, /≥ 1,000/], [], [/91 seen in part/], []],
  late: [[/late/, /revision 2/, /1,000/], [/≥/], [/91 late/], [/gap/, /part/]],
  unknown: [[/unknown/, /coverage not known/], [/\b0\b/], [/no known value/, /91 unknown/], [/highest/, /gap/]],
  bounded: [[/7 \[5–9\]/, /probability of 0\.950/], [], [/highest 1,000 bytes/], [/gap/]],
  missing: [[/1,000/], [], [/1 gap without an answer/], [/unknown/]],
};

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
  const go = async (path) => {
    await page.goto(base + path);
    await page.waitForSelector('h1');
    // The numbers of the newest answers come with the first fetch.
    await page.waitForFunction(() => !document.querySelector('main').textContent.includes('Asking Edison'));
  };
  for (const width of [1280, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await go('/');
    await page.waitForSelector('[aria-label=Nodes] tbody tr');
    for (const [name, [words, others]] of Object.entries(NODES)) {
      const row = page.locator('[aria-label=Nodes] tbody tr').filter({ has: page.locator('th', { hasText: new RegExp(`^\\s*${name}\\b`) }) });
      expect(`the node ${name} at ${width}`, squeezed(await row.innerText()), words, others);
    }
    const cut = await page.locator('[aria-label=Nodes] td').evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1 || (innerWidth < 500 && cell.getBoundingClientRect().right > innerWidth)).length);
    if (cut) failures.push(`${cut} cells of the nodes are cut at ${width} pixels`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/states-now-${width}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  for (const [name, [words, others, captions, no]] of Object.entries(QUERIES)) {
    await go(`/queries?query=${name}`);
    const panel = page.locator(`section[aria-label="${name}"]`);
    await panel.locator('figure').first().waitFor();
    const caption = squeezed(await panel.locator('figcaption').first().innerText());
    const head = squeezed(await panel.locator('.head').first().innerText());
    const answer = squeezed((await panel.locator('[role=region]').allInnerTexts()).join(' ') + (await panel.locator('p').allInnerTexts()).join(' '));
    // Times have figures too.
    expect(`the answer ${name}`, `${head} ${answer}`.replace(/\d\d:\d\d:\d\d(\.\d+)?/g, ''), words, others);
    expect(`the chart ${name}`, caption.replace(/\d\d:\d\d:\d\d/g, ''), captions, no);
  }
  if (screenshots) {
    await go('/queries');
    await page.locator('section[aria-label="missing"]').waitFor();
    await page.screenshot({ path: `${screenshots}/states-queries.png`, fullPage: true });
  }

  // Groups and keys beyond those that are listed are counted, not shown.
  await go('/queries?query=many');
  const many = squeezed(await page.locator('section[aria-label=many]').innerText());
  expect('a million groups', many, [/999,000 more groups/, /12,345 bytes/, /Show all 1,000/]);
  await go('/chain');
  const keys = page.locator('ul[aria-label="Keys of fires"]');
  await keys.waitFor();
  const listed = async () => squeezed(await keys.locator('xpath=..').innerText());
  expect('the keys of fires', await listed(), [/10\.0\.0\.0 fired \d\d:\d\d:\d\d story/, /and 69,995 other keys/]);
  await page.getByRole('button', { name: 'Show 50' }).click();
  expect('all keys of fires', await listed(), [/dst_addr 10\.0\.0\.48 pending since/, /dst_addr 10\.0\.0\.49 quiet until/, /and 69,950 other keys/]);
  if ((await keys.locator('li').count()) !== 50) failures.push(`${await keys.locator('li').count()} keys are listed`);
  const chain = squeezed(await page.innerText('main'));
  expect('the chain', chain, [/armed/, /no data/, /fired \d\d:\d\d:\d\d, 69,998 keys/]);
  if (screenshots) await page.screenshot({ path: `${screenshots}/states-chain.png`, fullPage: true });
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ url: base, failures }));
process.exit(failures.length === 0 ? 0 : 1);
