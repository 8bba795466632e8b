// Explore and Flow, as one uses them: what they show is what the API answers, and what is clicked is in the address.
//
// Nothing is known of what nodes have measured: sums are compared with those of a question that has no groups. The fixtures of mock/history.mjs
// are refused, late and partial on demand; they are known by their filter.

const BY_FLOW = 'src_addr,dst_addr,src_port,dst_port,protocol';

async function ask(base, text) {
  const response = await fetch(`${base}/api/v1/history`, { method: 'POST', body: text, headers: { 'content-type': 'text/plain' } });
  return response.ok ? response.json() : null;
}

/** Whether nodes remember a flow. */
export const remembers = async (api) => (await flowPath(api)) !== EXAMPLE;

const EXAMPLE = '/flow?src=10.0.0.1&dst=10.0.0.2&sport=1000&dport=80&proto=tcp';

/** The largest flow that nodes remember; an example where there is none. */
export async function flowPath(api) {
  const { history, mode, span } = await api('/status');
  const base = api.base;
  // Of a run over a capture: the time before its end.
  const end = mode === 'run' && span ? Date.parse(span.end) + 1000 : Date.now();
  const ago = (seconds) => new Date(end - seconds * 1000).toISOString().replace(/\.\d+Z/, 'Z');
  const said = !history ? null : (await ask(base, `top: select ${BY_FLOW.replaceAll(',', ', ')}, sum(total_byte) as bytes\n    from '${ago(3600)}' to '${ago(0)}'\n    groupby ${BY_FLOW.replaceAll(',', ', ')} limit 1 across nodes by sum;`));
  const row = said?.answers[0]?.rows[0];
  if (!row) return EXAMPLE;
  return `/flow?${new URLSearchParams({ src: row.src_addr, dst: row.dst_addr, sport: row.src_port, dport: row.dst_port, proto: row.protocol })}`;
}

/** Answers what was looked at; null where nothing is remembered. */
export async function explore({ open, base, api, fail }) {
  if (!(await api('/status')).history) return withoutStore({ open, base, fail });
  const page = await open(1280, 'light', [422, 429]);
  const go = async (path) => {
    await page.goto(base + path);
    await settled(page);
  };
  await go('/explore');
  if (!(await page.locator('[data-group]').count())) {
    const said = await page.textContent('main');
    if (!/store|remember|fitted|answered/i.test(said)) fail(`explore without rows does not say what to do: ${said.slice(0, 200)}`);
    return null;
  }
  const all = await sums({ page, base, fail });
  await clicked({ page, go, fail });
  await zoomed({ page, go, fail });
  await saved({ page, go, fail });
  await compared({ page, go, fail });
  await picked({ page, go, fail, isLive: !(await api('/status')).ended });
  await told({ page, go, fail });
  await refused({ page, go, fail });
  await flow({ page, go, base, fail });
  await page.context().close();
  return { all };
}

async function withoutStore({ open, base, fail }) {
  const page = await open(1280, 'light');
  for (const path of ['/explore', '/flow']) {
    await page.goto(base + path);
    await page.waitForSelector('h1');
    if (!(await page.textContent('h1')).includes('store')) fail(`${path} of a run does not say what to do`);
  }
  await page.context().close();
  return null;
}

const settled = async (page) => {
  await page.waitForSelector('main [aria-busy=false] h1', { timeout: 40_000 });
  await page.waitForTimeout(50);
  await page.waitForSelector('main [aria-busy=false] h1', { timeout: 40_000 });
};
const figures = (page, rows = '[data-group]') => page.locator(`${rows} [data-figure]`).evaluateAll((cells) => cells.map((cell) => cell.dataset.figure));
const isWhole = (text) => /^\d+$/.test(text);

/** What differs between the page and the API. A window may be stored between their questions: the page then asks anew. */
async function differences(page, find) {
  for (let tries = 1; ; tries += 1) {
    const found = await find();
    if (!found.length || tries === 20) return found;
    await page.reload();
    await settled(page);
  }
}

/** Groups and all others are what a question without groups answers. */
async function sums({ page, base, fail }) {
  let all;
  const find = async () => {
    [all] = await figures(page, '[data-all]');
    const others = await figures(page, '[data-others]');
    const parts = [...(await figures(page)), ...others];
    const sum = parts.reduce((total, part) => total + BigInt(isWhole(part) ? part : 0), 0n);
    const [, from, to] = /from '([^']+)' to '([^']+)'/.exec(await page.textContent('[data-equery]')) ?? [];
    const said = await ask(base, `whole: select sum(total_byte) as bytes\n    from '${from}' to '${to}'\n    across nodes by sum;\n`);
    const told = said?.answers[0]?.rows[0]?.bytes;
    const value = String(typeof told === 'object' ? told?.value : told);
    return [
      String(sum) !== all && `${parts.join(' + ')} is ${sum}, not ${all}`,
      // What is not listed is known, too: all of it is asked for without groups.
      ![...others, all].every(isWhole) && `of others and all only bounds are shown: ${all}`,
      value !== all && `all is ${all}, a question without groups answers ${value}`,
    ].filter((difference) => difference);
  };
  (await differences(page, find)).forEach((difference) => fail(`explore: ${difference}`));
  return Number(all);
}

/** A value that is clicked is a condition in the address; back takes it away. */
async function clicked({ page, go, fail }) {
  await go('/explore?by=dst_addr,dst_port');
  const before = await figures(page);
  const button = page.locator('[data-group] button.value').first();
  const value = (await button.textContent()).trim();
  await button.focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.search.includes('only='));
  await settled(page);
  const shown = await page.locator('[data-group] td:nth-child(2)').allTextContents();
  if (!shown.length || shown.some((text) => text.trim() !== value)) fail(`explore: only ${value} shows ${shown.join()}`);
  if (!(await page.locator('ul[aria-label="Only flows with"]').textContent()).includes(value)) fail(`explore: no chip of ${value}`);
  await page.goBack();
  await settled(page);
  const after = await figures(page);
  if (after.length !== before.length) fail(`explore: back shows ${after.length} groups, not ${before.length}`);
  await page.goForward();
  await settled(page);
  await page.locator('ul[aria-label="Only flows with"] button').click();
  await page.waitForFunction(() => !location.search.includes('only='));
}

async function zoomed({ page, go, fail }) {
  await go('/explore?from=-1h');
  const box = await page.locator('.u-over').first().boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.75, 0.98);
  await page.waitForFunction(() => /from=\d{4}-/.test(location.search), null, { timeout: 5000 }).catch(() => fail('explore: a drag does not zoom'));
  await settled(page);
  const { from, to } = Object.fromEntries(new URL(page.url()).searchParams);
  const length = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(length > 600 && length < 1200)) fail(`explore: a drag over 23 % of an hour is ${length} s`);
  await page.goBack();
  await settled(page);
  if (!page.url().endsWith('from=-1h')) fail('explore: back does not zoom out');
}

/** The file has the figures of the table. */
async function saved({ page, go, fail }) {
  await go(`/explore?by=${BY_FLOW}&top=5`);
  const shown = await figures(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=CSV: ranking')]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString('utf8').replace(/^\ufeff/, '').trimEnd().split('\r\n');
  const at = lines[0].split(',').findIndex((name) => name.startsWith('bytes'));
  const told = lines.slice(1).filter((line) => line.startsWith('group,')).map((line) => line.split(',')[at]);
  if (told.join() !== shown.join()) fail(`explore: the file has ${told.join()}, the table ${shown.join()}`);
}

async function compared({ page, go, fail }) {
  await go('/explore?from=-10min');
  await page.getByLabel('compare with').selectOption('same');
  await page.waitForFunction(() => location.search.includes('compare=same'));
  await settled(page);
  const changes = await page.locator('[data-change]').allTextContents();
  if (!changes.length || changes.some((text) => text.trim() === '')) fail(`explore: no column of changes: ${changes.join()}`);
  if (!/Dashed|Nothing is remembered/.test(await page.textContent('main'))) fail('explore: what is dashed is not said');
  await page.click('button:has-text("table")');
  await page.waitForSelector('[aria-label="Over time"] table');
}

/** Times as people type them, by the keyboard alone; each is in the address. */
async function picked({ page, go, fail, isLive }) {
  const parameter = (name) => new URL(page.url()).searchParams.get(name);
  const asks = async (name, said) => {
    await page.waitForFunction(([name, said]) => new URLSearchParams(location.search).get(name) === said, [name, said], { timeout: 5000 }).catch(() => fail(`explore: ${name} is ${parameter(name)}, not ${said}`));
    await settled(page);
    const wrong = page.locator('[role=alert]');
    if (await wrong.count()) fail(`explore: ${name}=${said} is refused: ${await wrong.first().textContent()}`);
  };
  const openPicker = async () => {
    await page.locator('details.pick summary').focus();
    await page.keyboard.press('Enter');
  };
  await go('/explore');
  await openPicker();
  await page.getByRole('button', { name: /^15 min/ }).focus();
  await page.keyboard.press('Enter');
  await asks('from', '-15min');
  for (const typed of ['-2h30m', 'now-1h', 'yesterday', '-90s']) {
    await openPicker();
    await page.locator('.pop input[aria-label=from]').fill(typed);
    await page.keyboard.press('Enter');
    await asks('from', typed);
  }
  const [, from, to] = /from '([^']+)' to '([^']+)'/.exec(await page.textContent('[data-equery]')) ?? [];
  const length = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(length >= 80 && length <= 110)) fail(`explore: -90s asks for ${length} s`);
  await go('/explore?from=yesterday');
  const day = /from '([^']+)' to '([^']+)'/.exec(await page.textContent('[data-equery]')) ?? [];
  if (Date.parse(day[2]) - Date.parse(day[1]) !== 86_400_000 || !day[1].endsWith('T00:00:00Z')) fail(`explore: yesterday is ${day[1]} to ${day[2]}`);
  // What is typed of a date is UTC in the address, and a zone is a choice of its own.
  await openPicker();
  await page.locator('.pop input[aria-label=from]').fill('2026-11-26 14:20');
  await page.locator('.pop input[aria-label=to]').fill('2026-11-26 15:20');
  await page.keyboard.press('Enter');
  await asks('from', '2026-11-26T14:20:00Z');
  await openPicker();
  await page.getByRole('button', { name: /^local/ }).click();
  await asks('tz', 'local');
  await page.keyboard.press('Escape');
  // A view of the same address asks again by itself, of what goes on.
  if (!isLive) return;
  await go('/explore?from=-15min&refresh=5s');
  let asked = 0;
  const count = (request) => request.method() === 'POST' && request.url().endsWith('/history') && (asked += 1);
  page.on('request', count);
  await page.waitForTimeout(11_000);
  page.off('request', count);
  if (asked < 2) fail(`explore: asked ${asked} times in 11 s with refresh=5s`);
}

/** What the cursor, or an arrow key, has of a chart: every series, in the order of the stack, then all, which is their sum. */
async function told({ page, go, fail }) {
  await go('/explore?from=-15min&compare=same');
  await page.locator('[role=slider]').focus();
  await page.keyboard.press('End');
  const told = () => page.locator('[data-tip] tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  let rows = await told();
  // The newest windows may not be stored yet, and of a capture most of the time may be before it.
  for (let back = 0; back < 250 && !rows.some((row) => /[1-9].* %/.test(row[3] ?? '')); back += 1) {
    await page.keyboard.press('ArrowLeft');
    rows = await told();
  }
  const groups = await page.locator('[data-group] td:nth-child(2)').allTextContents();
  const others = await page.locator('[data-others]').count();
  const names = rows.map(([, name]) => name).reverse();
  const wanted = groups.map((name) => name.trim());
  if (names.slice(0, wanted.length).join() !== wanted.join()) fail(`explore: the cursor tells ${names.join()}, not ${wanted.join()}`);
  if (names.length !== wanted.length + others) fail(`explore: the cursor tells ${names.length} series, not ${wanted.length + others}`);
  const foot = await page.locator('[data-tip] tfoot').textContent();
  if (!/all/.test(foot) || (names.length > 1 && !/before/.test(foot))) fail(`explore: the cursor does not tell all and before: ${foot}`);
  const spoken = await page.locator('[role=slider]').getAttribute('aria-valuetext');
  if (wanted.length && !spoken.includes(wanted[0])) fail(`explore: a chart does not say what it shows: ${spoken}`);
  const shares = rows.map((row) => Number(/([\d.]+) %/.exec(row[3] ?? '')?.[1] ?? 0)).reduce((a, b) => a + b, 0);
  if (rows.length > 1 && !(shares > 95 && shares <= 100.5)) fail(`explore: shares of the cursor are ${shares} % together`);
}

/** What is wrong with a filter is said below it, in the checker's words; fixtures are also busy, and answered in part. */
async function refused({ page, go, fail }) {
  await go('/explore');
  await page.fill('#filter', 'dst_port = 443 and total_bite > 3');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[role=alert] li', { timeout: 10_000 }).catch(() => fail('explore: no diagnostics of a filter'));
  const said = await page.textContent('[role=alert]');
  if (!said.includes('character 20 of the filter') || !said.includes('total_bite')) fail(`explore: the place in the filter is not said: ${said}`);
  await go(`/explore?by=${encodeURIComponent('src_addr')}&only=${encodeURIComponent("service = 'it''s'")}`);
  if (await page.locator('[role=alert]').count()) fail(`explore: a text in quotes is refused: ${await page.textContent('[role=alert]')}`);
  await go('/explore?from=lately');
  if (!(await page.textContent('[role=alert]')).includes('-1h')) fail('explore: a wrong time does not say what a time is');
  await go('/explore?where=vlan+%3D+429');
  if (await page.locator('[role=alert]').count()) {
    if (!(await page.textContent('h1')).includes('busy')) fail('explore: busy is not called so');
    await go('/explore?where=vlan+%3D+9+or+vlan+is+null');
    if (!(await page.textContent('h1')).includes('at least')) fail('explore: what is partial is not called so');
    if (!(await page.locator('.tag.late').count())) fail('explore: who is late is not named');
  }
}

/** The packets of nodes that the page of a flow does not have. */
async function absentPackets(page, base) {
  const said = await ask(base, await page.textContent('[data-equery]'));
  const shown = await page.locator(`section:has(table) >> nth=0`).textContent();
  return (said?.answers ?? [])
    .filter(({ query, node, rows }) => query === 'there' && node !== null && rows.length)
    .map(({ node, rows }) => ({ node, packets: Number(rows[0].packets).toLocaleString('en-US') }))
    .filter(({ node, packets }) => !shown.includes(node) || !shown.includes(packets));
}

/** A row of a flow leads to its view, which has the packets of each node. */
async function flow({ page, go, base, fail }) {
  await go(`/explore?by=${BY_FLOW}&top=3`);
  await page.locator('[data-group] a[href*="/flow?"]').first().click();
  await page.waitForFunction(() => location.pathname.endsWith('/flow'));
  await settled(page);
  (await differences(page, () => absentPackets(page, base)))
    .forEach(({ node, packets }) => fail(`flow: ${node} has ${packets} packets, which are not on the page`));
  const lead = await page.textContent('h1');
  if (!/loss|lost|packets/i.test(lead)) fail(`flow: the headline does not say what is lost: ${lead}`);
  await page.fill('input[aria-label="source port"]', 'http');
  await page.click('form >> text=Ask');
  await page.waitForFunction(() => document.querySelector('h1').textContent.includes('port'));
}
