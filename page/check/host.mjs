// Hosts, the search box and a story, as one uses them by keyboard alone; and the page below a path of a reverse proxy.
//
//   node check/host.mjs [--screenshots FOLDER]
//
// Starts the mock (mock/server.mjs) for each. Figures are compared with questions of another kind. Prints a line of JSON.

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { served } from './served.mjs';

const rest = process.argv.slice(2);
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const failures = [];
const expect = (holds, text) => holds || failures.push(text);
const says = (where, text, words, others = []) => {
  for (const word of words) expect(word.test(text), `${where} does not say ${word}: ${text.slice(0, 500)}`);
  for (const word of others) expect(!word.test(text), `${where} says ${word}: ${text.slice(0, 500)}`);
};
const squeezed = (text) => text.replace(/\s+/g, ' ');
const HOST = '203.0.113.1';
const PREFIX = '/net/edison';

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
async function opened(base, path, width = 1280, scheme = 'light') {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  page.on('pageerror', (error) => failures.push(`error on ${path}: ${error.message}`));
  page.on('dialog', (dialog) => (failures.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on('console', (message) => message.type() === 'error' && !/status of (404|429)/.test(message.text()) && failures.push(`console at ${path}: ${message.text()}`));
  await page.goto(base + path);
  await page.waitForSelector('h1');
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'), null, { timeout: 20_000 });
  return page;
}
const text = async (page, selector) => squeezed(await page.innerText(selector));
async function shot(page, name) {
  const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  expect(inner <= outer, `${name} scrolls sideways: ${inner} of ${outer} pixels`);
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
}
const ask = async (base, question) => (await fetch(`${base}/api/v1/history`, { method: 'POST', body: question, headers: { 'content-type': 'text/plain' } })).json();

/** All digits of the cells of a column, those of the last row apart. */
const column = (page, label, at) => page.locator(`section[aria-label="${label}"] tr:not(thead tr)`).evaluateAll((rows, at) => rows.map((row) => /^([\d,]+) bytes$/.exec(row.querySelectorAll('td.number')[at]?.title ?? '')?.[1]?.replaceAll(',', '') ?? null), at);

async function sums(base) {
  const page = await opened(base, `/host/${HOST}`);
  says('a host', await text(page, 'h1'), [new RegExp(`^${HOST} sent .* and received .* in the last hour`)]);
  says('what it is', await text(page, 'main'), [/seen at Node1/, /also at Node2/, /sent again/, /none lost|lost, /, /What happened to it/], [/NaN|undefined/]);
  const [, from, to] = /from '([^']+)' to '([^']+)'/.exec(await page.textContent('[data-equery]'));
  const whole = async (which) => (await ask(base, `whole: select sum(total_byte) as bytes\n    from '${from}' to '${to}'\n    where ${which} = ${HOST}, node_id in ('Node1');\n`)).answers[0].rows[0].bytes;
  for (const [at, field] of [[0, 'src_addr'], [1, 'dst_addr']]) {
    const cells = await column(page, 'Peers', at);
    expect(cells.at(-1) === String(await whole(field)), `all ${field} is ${cells.at(-1)}, a question of its own answers ${await whole(field)}`);
  }
  // Each peer leads to its own host, at the same time; back leads here.
  const peer = await page.locator('[data-peer]').first().getAttribute('data-peer');
  await page.locator('[data-peer] a').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction((path) => location.pathname === path, `/host/${peer}`);
  await page.goBack();
  await page.waitForFunction((path) => location.pathname === path, `/host/${HOST}`);
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'));
  // Another node, by keyboard.
  await page.locator('.facts button').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.search.includes('node=Node2'));
  await page.waitForFunction(() => /seen at Node2/.test(document.querySelector('main').innerText));
  // Its queries come into the editor.
  await page.getByRole('link', { name: /^Watch/ }).click();
  await page.waitForSelector('#equery');
  says('the watch query', await page.inputValue('#equery').catch(() => page.innerText('main')), [new RegExp(`addr = ${HOST}`)]);
  await page.close();
  for (const [width, scheme] of [[400, 'light'], [400, 'dark'], [1280, 'light'], [1280, 'dark'], [1920, 'light']]) {
    for (const [name, path] of [['host', `/host/${HOST}`], ['host-v6', '/host/2001:DB8:0:0::0A?from=-15min']]) {
      const page = await opened(base, path, width, scheme);
      await shot(page, `${name}-${width}-${scheme}`);
      if (name === 'host-v6') says('IPv6', await text(page, 'h1'), [/^2001:db8::a (sent|received)|^No packet of 2001:db8::a/]);
      await page.close();
    }
  }
}

async function finds(base) {
  const page = await opened(base, '/events');
  const goes = async (typed, wanted, keys = ['Enter']) => {
    await page.keyboard.press('/');
    await page.keyboard.type(typed);
    await page.waitForSelector('#found [role=option]');
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForFunction((wanted) => new RegExp(wanted).test(decodeURIComponent(location.pathname + location.search).replaceAll('+', ' ')), wanted).catch(async () => failures.push(`'${typed}' leads to ${page.url()}, not ${wanted}`));
    await page.evaluate(() => document.activeElement?.blur());
  };
  // The begin of an address that rankings have had.
  await page.goto(`${base}/`);
  await page.waitForSelector('[aria-label=Traffic]');
  await goes('198.51.', '^/host/198\\.51\\.100\\.');
  const [host] = [await page.evaluate(() => decodeURIComponent(location.pathname.split('/').at(-1)))];
  await page.waitForFunction((host) => document.title === `${host} – Edison`, host).catch(async () => failures.push(`the title of a host is ${await page.title()}`));
  await goes('203.0.113.9', '^/host/203\\.0\\.113\\.9$');
  await goes('2001:DB8::1', '^/host/2001:db8::1$');
  await goes('10.0.0.0/24', '^/explore\\?.*only=addr in 10\\.0\\.0\\.0/24');
  await goes('https', '^/explore\\?.*only=port = 443');
  await goes('port 53', '^/explore\\?.*only=port = 53');
  await goes('node2', '^/nodes\\?node=Node2');
  await goes('between', '^/queries\\?query=between');
  await goes('queries', '^/queries$');
  await goes('lost', '^/stories/');
  // The second of several, and none of them.
  await goes('node', '^/nodes\\?node=Node2', ['ArrowDown', 'Enter']);
  await page.keyboard.press('/');
  await page.keyboard.type('<img src=x onerror=alert(1)>');
  await page.waitForSelector('text=Nothing that Edison knows');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  expect(await page.evaluate(() => document.activeElement === document.body), 'the box is not left by Escape');
  // Where one writes, the key is a letter.
  await page.goto(`${base}/explore`);
  await page.waitForSelector('#filter');
  await page.focus('#filter');
  await page.keyboard.type('10.0.0.0/8');
  expect((await page.inputValue('#filter')) === '10.0.0.0/8', 'the key of the box is taken from who writes');
  await page.close();
  for (const [width, scheme] of [[400, 'light'], [1280, 'dark']]) {
    const page = await opened(base, '/', width, scheme);
    await page.keyboard.press('/');
    await page.keyboard.type('node');
    await page.waitForSelector('#found [role=option]');
    await shot(page, `search-${width}-${scheme}`);
    await page.close();
  }
}

async function tells(base) {
  const { stories } = await (await fetch(`${base}/api/v1/stories`)).json();
  const { id } = stories.find(({ title }) => title) ?? stories[0];
  const page = await opened(base, `/stories/${id}`);
  await page.waitForSelector('[aria-label="The way of its flows"]', { timeout: 20_000 });
  says('a story', await text(page, 'main'), [
    /Packets to 203\.0\.113\.1 are lost between Node1 and Node2/, /its senders .*Node1 [\d.,k ]+ packets .* lost, [\d.]+ %.* Node2 .* 203\.0\.113\.1/, /What happened/, /Evidence/, /Who is hit/, /Not known/, /The queries behind it/, /Explore at that time/, /Packets: 20 captured/,
  ], [/undefined|NaN/]);
  const [lead] = await page.locator('h1').allTextContents();
  expect((await page.title()) === `${lead} – Edison`, `the title of a story is ${await page.title()}`);
  // Nothing of a story is cut at this width.
  const cut = await page.locator('main .scroll').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${one.ariaLabel}: ${one.scrollWidth} in ${one.clientWidth}`));
  expect(!cut.length, `of a story is cut: ${cut.join('; ')}`);
  expect(lead === 'Packets to 203.0.113.1 are lost between Node1 and Node2', `the title is ${lead}`);
  await page.close();
  for (const [width, scheme] of [[400, 'light'], [400, 'dark'], [1280, 'light'], [1280, 'dark'], [1920, 'light']]) {
    const page = await opened(base, `/stories/${id}`, width, scheme);
    await page.waitForSelector('[aria-label="The way of its flows"]');
    await shot(page, `story-${width}-${scheme}`);
    await page.close();
  }
}

/** Whatever is asked and wherever links lead, it is below the prefix. */
async function prefixed(base) {
  const origin = new URL(base).origin;
  const { stories } = await (await fetch(`${base}/api/v1/stories`)).json();
  const paths = ['/', '/events', '/chain', '/queries', '/explore', '/flow', '/nodes', `/host/${HOST}`, '/host/2001:db8::a/', `/stories/${stories[0].id}`];
  for (const path of paths) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on('request', (request) => expect(request.url().startsWith(`${base}/`) || request.url().startsWith('data:'), `${path} asks for ${request.url()}`));
    page.on('response', (response) => expect(response.status() < 400 || /\/(now|unusual)\b/.test(response.url()), `${path}: ${response.status()} ${response.url()}`));
    page.on('pageerror', (error) => failures.push(`error on ${path}: ${error.message}`));
    const streamed = page.waitForRequest((request) => request.url().startsWith(`${base}/api/v1/stream`));
    await page.goto(base + path);
    await streamed;
    await page.waitForSelector('h1');
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'), null, { timeout: 20_000 });
    const links = await page.locator('a[href]').evaluateAll((all) => all.map((link) => link.href));
    const foreign = links.filter((href) => !href.startsWith(`${base}/`));
    expect(links.length > 5 && !foreign.length, `links of ${path} lead to ${foreign.slice(0, 3).join(' ')}`);
    // A link is followed without loading the page anew, and back.
    await page.evaluate(() => (window.isSame = true));
    await page.locator('nav a', { hasText: 'Nodes' }).click();
    await page.waitForFunction((path) => location.pathname === path, `${PREFIX}/nodes`);
    await page.goBack();
    await page.waitForFunction((path) => location.pathname === path, PREFIX + path);
    expect(await page.evaluate(() => window.isSame), `${path} was loaded anew`);
    await page.close();
  }
  for (const path of ['/nowhere', '/host/here', '/assets/none.js', '/api/v1/none']) expect((await fetch(base + path)).status === 404, `${path} is there`);
  expect((await fetch(`${origin}/api/v1/status`)).status === 404, 'the root has the API, too');
}

/** Nothing is stored: what is known is said to be what it is. */
async function unstored(base) {
  const page = await opened(base, '/host/192.0.2.12');
  says('a host of a run without a store', await text(page, 'main'), [/192\.0\.2\.12 is number 1 of the senders/, /Nothing is stored here/, /talks with 203\.0\.113\.40/], [/undefined|NaN|not remembered/]);
  await page.close();
  const other = await opened(base, '/host/198.18.0.1', 400);
  says('one that is in no ranking', await text(other, 'main'), [/not among the/, /of others nothing is kept/]);
  await shot(other, 'host-unstored-400-light');
  await other.close();
}

try {
  await served(['--after', '1'], async (base) => {
    for (let tries = 0; tries < 100 && !(await (await fetch(`${base}/api/v1/stories`)).json()).stories.some(({ title }) => title); tries += 1) await new Promise((done) => setTimeout(done, 200));
    await sums(base);
    await finds(base);
    await tells(base);
  });
  await served(['--after', '1', '--prefix', PREFIX], async (base) => {
    await fetch(`${base}/mock/play?seconds=10`);
    await prefixed(base);
  });
  await served(['--run'], unstored);
  await served(['--hostile', '--after', '1'], async (base) => {
    await fetch(`${base}/mock/play?seconds=12`);
    const { stories } = await (await fetch(`${base}/api/v1/stories`)).json();
    for (const width of [400, 1280]) {
      const page = await opened(base, `/stories/${stories[0].id}`, width);
      await page.waitForTimeout(500);
      await shot(page, `story-hostile-${width}`);
      await page.keyboard.press('/');
      await page.keyboard.type('img');
      await page.waitForSelector('#found [role=option]');
      await shot(page, `search-hostile-${width}`);
      await page.close();
    }
  });
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ failures }));
process.exit(failures.length === 0 ? 0 : 1);
