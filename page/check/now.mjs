// That Now answers five questions in words, without a click: what the traffic does, who sends most, what changed, whether anything is wrong, and
// what is lost and where. And that what Explore opens on is what is remembered.
//
//   node check/now.mjs [--screenshots FOLDER]
//
// Starts the mock (mock/server.mjs) for each. The figures are those of mock/now.mjs, added up here by themselves. Prints a line of JSON.

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { served } from './served.mjs';

const rest = process.argv.slice(2);
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const failures = [];
const squeezed = (text) => text.replace(/\s+/g, ' ');
function expect(where, text, words, others = []) {
  for (const word of words) if (!word.test(text)) failures.push(`${where} does not say ${word}: ${text.slice(0, 600)}`);
  for (const word of others) if (word.test(text)) failures.push(`${where} says ${word}: ${text.slice(0, 600)}`);
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
async function opened(base, path, width = 1280) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  page.on('pageerror', (error) => failures.push(`error on the page: ${error.message}`));
  await page.goto(base + path);
  return page;
}

async function nowAt(base, path, name, width) {
  const page = await opened(base, path, width);
  await page.waitForSelector('[aria-label=Traffic] [role=slider]');
  await page.waitForFunction(() => !document.querySelector('main').textContent.includes('Asking'));
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}-${width}.png`, fullPage: true });
  return page;
}

const text = async (page, selector) => squeezed(await page.innerText(selector));
/** Of a table: the bytes of its rows, of the others and of all. */
const bytesOf = (page, label) => page.locator(`section[aria-label="${label}"]`).evaluate((section) => {
  const of = (row) => Number(/^([\d,]+) bytes$/.exec(row.querySelector('td[title]')?.title ?? '')?.[1].replaceAll(',', '') ?? NaN);
  return { rows: [...section.querySelectorAll('tbody tr')].map(of), rest: [...section.querySelectorAll('tfoot tr:not(.fold)')].map(of) };
});

try {
  await served(['--live'], async (base) => {
    for (const width of [1280, 400]) {
      const page = await nowAt(base, '/', 'live', width);
      const said = await text(page, '.headline');
      expect(`what a live interface does at ${width}`, said, [/[\d.]+ Mbit\/s and [\d,]+ packets\/s pass eth0, \d+ % more bits than an hour ago/], [/quiet/i]);
      expect(`who sends most at ${width}`, said, [/192\.0\.2\.12 sends most, [\d.]+ % of [\d.]+ GB in the last hour/]);
      expect(`what changed at ${width}`, said, [/The rise of [\d.]+ GB in the hour is (mostly )?one conversation: 192\.0\.2\.12 ↔ 203\.0\.113\.40/]);
      expect(`what is wrong at ${width}`, await text(page, '[aria-label=Unusual]'), [/A scan: 198\.51\.100\.77 reached 20,114 addresses/, /Many to one: 192\.0\.2\.30/, /A loss: 4\.1 %/, /A new heavy talker: 192\.0\.2\.12 ↔ 203\.0\.113\.40 has [\d.]+ % of all bytes/, /4 of 5 watched/, /silence \(the rule needs 10 earlier minutes/]);
      expect(`what is lost at ${width}`, said, [/6,412 packets, <0\.01 % of all, were lost before edge1 was read/]);
      expect(`the account at ${width}`, await text(page, '[aria-label=Account]'), [/received [\d,]+ = measured [\d,]+ \+ not measured 2,228 1,904 arp, 318 ipv6_fragment, 6 truncated/, /lost before they were read 6,412 imissed/, /coverage 99\.99 %/]);
      expect(`the figures at ${width}`, await text(page, '[aria-label=Figures]'), [/bits\/s, last minute [\d.]+ Mbit\/s [\d.]+ Mbit\/s an hour ago/, /packets\/s, last minute/, /flows, last minute/, /of 1,048,576 that have room/, /TCP lost or sent again, last minute/, /coverage 99\.99 %/]);
      const { rows, rest } = await bytesOf(page, 'Who sends');
      const all = rest.at(-1);
      const sum = [...rows, ...rest.slice(0, -1)].reduce((a, b) => a + b, 0);
      if (sum !== all || rows.length !== 10) failures.push(`who sends: ${rows.length} rows and the others are ${sum} bytes, all are ${all}`);
      const cut = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      if (cut) failures.push(`Now scrolls sideways at ${width} pixels`);
      await page.close();
    }
    // Other groups, other units and one node are in the address; what is not is as it was.
    const page = await nowAt(base, '/?by=port', 'live-port', 1280);
    expect('the key by port', await text(page, '[aria-label=Key]'), [/443\/tcp \(https\)/, /all, an hour before/]);
    await page.getByRole('button', { name: 'packets', exact: true }).click();
    await page.waitForFunction(() => location.search === '?by=port&unit=packets');
    expect('the unit of packets', await text(page, '[aria-label=Traffic]'), [/k packets\/s/, /Packets are not kept by port/]);
    await page.goBack();
    await page.waitForFunction(() => location.search === '?by=port');
    await page.close();
  });

  await served(['--calm'], async (base) => {
    const page = await nowAt(base, '/', 'calm', 1280);
    expect('a calm interface', await text(page, '.headline'), [/Mbit\/s and [\d,]+ packets\/s pass eth0, as an hour ago/], [/quiet/i, /lost/, /rise/]);
    expect('nothing unusual', await text(page, '[aria-label=Unusual]'), [/Nothing that is watched is unusual/, /Not unusual: scans, many to one, losses, heavy talkers/]);
    if (!(await page.locator('.headline.calm').count())) failures.push('a calm interface is not calm');
    await page.close();
  });

  await served(['--run'], async (base) => {
    const page = await nowAt(base, '/', 'capture', 1280);
    expect('what a capture holds', await text(page, '.headline'), [/trace\.pcapng holds 75\.25 s: [\d.]+ GB in [\d,]+ packets, [\d.]+ % of the bytes sent by 192\.0\.2\.12/, /200 packets of probe-1, 0\.01 % of all, were not measured: 188 arp, 12 ipv4 header/], [/ago/, /last hour/]);
    if (await page.locator('.headline.calm').count()) failures.push('a capture with packets that were not measured looks well');
    expect('the chart of a capture', await text(page, '[aria-label=Traffic]'), [/Traffic of the whole capture/, /Windows of 1 s, 75 of 76 complete/, /Hatched: not watched for the whole window\. The last window has 250 ms alone/], [/before/, /at least/]);
    expect('what a capture lost', await text(page, '[aria-label=Account]'), [/lost before they were read not known/, /coverage not known/]);
    await page.close();
  });

  // Of three nodes of a capture two ended earlier, and a filter of the user's left most out: neither is said to be what it is not.
  await served(['--taps'], async (base) => {
    const page = await nowAt(base, '/', 'taps', 1280);
    expect('a capture of three nodes', await text(page, '.headline'), [/^a\.pcap, tap\.pcap hold 75\.25 s: [\d.]+ GB in/], [/filter/, /not measured/, /undefined|NaN/]);
    if (!(await page.locator('.headline.calm').count())) failures.push("what the user's own filter leaves out is trouble");
    expect('the account of the filter', await text(page, '[aria-label=Account]'), [/received 2,700,000 = measured 270,000 \+ not measured 2,430,000 filter/]);
    if (await page.locator('[aria-label=Account] b.warn').count()) failures.push('the filter is a warning in the account');
    expect('nodes that ended earlier', await text(page, '[aria-label=Traffic]'), [/Windows of 1 s, 38 of 76 complete/, /Hatched: seen in part; at least this much/, /B, C missing: stopped/], [/Gaps/, /all 76/]);
    const all = Number((await text(page, '[aria-label=Figures]')).match(/bytes ([\d.]+) GB/)?.[1]);
    await page.goto(`${base}/?node=A`);
    await page.waitForSelector('text=Of A alone');
    await page.waitForSelector('.headline');
    const own = await text(page, '.headline');
    expect('a node alone', own, [/^A holds 75\.25 s: [\d.]+ [MG]B in/], [/tap/]);
    const [, bytes, prefix] = /([\d.]+) ([MG])B in/.exec(own) ?? [];
    const one = Number(bytes) / (prefix === 'M' ? 1000 : 1);
    if (!(Math.abs(one - all / 3) < all / 100)) failures.push(`A alone has ${one} GB, all three have ${all} GB`);
    expect('the chart of a node alone', await text(page, '[aria-label=Traffic]'), [/Windows of 1 s, 75 of 76 complete/], [/stopped/]);
    await page.goto(`${base}/?node=nope`);
    await page.waitForSelector('text=There is no node of the name nope');
    expect('a node that is not there', await text(page, 'main'), [/What all nodes see/], [/hold/, /bytes/]);
    await page.goto(`${base}/nodes?state=up`);
    await page.waitForSelector('text=No node fits');
    expect('nodes that have ended', await text(page, 'main'), [/^3 nodes have ended\./, /ended 3/], [/\bup \d/, /pass/]);
    await page.goto(`${base}/nodes?state=ended`);
    await page.waitForSelector('[data-node=C]');
    await page.goto(`${base}/events`);
    await page.waitForSelector('text=Nothing fired.');
    await page.close();
  });

  // Two nodes of a controller: steps of which nothing is known, and one that was seen in part, are no zeros.
  await served([], async (base) => {
    const page = await nowAt(base, '/', 'gaps', 1280);
    expect('gaps', await text(page, '[aria-label=Traffic]'), [/Gaps: 2 windows of which nothing is known/, /not sent/, /Hatched: seen in part; at least this much/, /the spool was full/]);
    await page.locator('[role=slider]').focus();
    await page.keyboard.press('Home');
    for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowRight');
    expect('a gap under the cursor', await text(page, '[data-tip]'), [/no answer/, /not known/], [/\b0 bit/]);
    await page.close();
  });

  // Without a word of the traffic the page says what nodes do.
  await served(['--states'], async (base) => {
    const page = await opened(base, '/');
    await page.waitForSelector('.headline');
    if (await page.locator('[aria-label=Traffic]').count()) failures.push('a chart is drawn of what is not kept');
    await page.close();
  });

  // Explore opens on what is remembered: of stores that ended two hours ago, and of those that began ten minutes ago.
  for (const [word, hours] of [['--old', 1], ['--young', 10 / 60]]) {
    await served([word], async (base) => {
      const page = await opened(base, '/explore');
      await page.waitForFunction(() => document.querySelector('main [aria-busy=false] [data-group]'), null, { timeout: 20_000 }).catch(() => failures.push(`explore ${word} has no figures`));
      await page.waitForTimeout(1500);
      const [, from, to] = /from '([^']+)' to '([^']+)'/.exec(await page.textContent('[data-equery]')) ?? [];
      const length = (Date.parse(to) - Date.parse(from)) / 3.6e6;
      if (!(length > hours * 0.9 && length < hours * 1.25)) failures.push(`explore ${word} opens on ${length} h, from ${from} to ${to}`);
      await page.close();
    });
  }
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ failures }));
process.exit(failures.length === 0 ? 0 : 1);
