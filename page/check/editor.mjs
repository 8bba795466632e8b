// The editor: an error that is shown as the checker has it, completion by keyboard, what a query costs, and what Ctrl-Enter does.

const BOX = '#equery';
const WAIT = { timeout: 10_000 };
// Letters of two, three and four bytes stand before the error.
const WRONG = '# ü€😀\npage_check: select nothing_of_this, count(*);';
const RIGHT = 'page_check: select dst_addr, count(src_addr) as sources groupby dst_addr limit 3 every 1s;';

export async function lookAtEditor({ page, base, api, fail, here, judge, picture }) {
  await page.goto(`${base}/queries`, { waitUntil: 'load' });
  await page.waitForSelector(BOX, WAIT);
  const ask = (text) => fetch(`${base}/api/v1/check`, { method: 'POST', body: text }).then((response) => response.json());

  // An error: underlined, said in a list, and told to who does not see it.
  await write(page, WRONG);
  const [error] = (await ask(WRONG)).diagnostics;
  await page.waitForSelector('.cm-lintRange-error', WAIT);
  const underlined = await page.locator('.cm-lintRange-error').first().textContent();
  const part = Buffer.from(WRONG).subarray(error.span.start, error.span.end).toString();
  if (underlined !== part) fail(`${here}: ${underlined} is underlined, not ${part}`);
  const said = await page.locator('[data-severity="error"]').first().textContent();
  if (!said.includes(error.message) || !said.includes(error.help)) fail(`${here}: the editor says ${said}`);
  if (!/1 error/.test(await page.locator('#checked').textContent())) fail(`${here}: the error is not counted`);
  await page.locator('[data-severity="error"] button').first().click();
  await page.keyboard.press('F8');
  await page.waitForSelector('.cm-diagnostic', WAIT);
  await page.keyboard.press('Escape');
  await judge(`${here}, an error`);
  await picture('error');

  // Completion, by keyboard alone.
  await write(page, 'page_check: select src_');
  await page.waitForSelector('.cm-tooltip-autocomplete', WAIT);
  const options = await page.locator('.cm-tooltip-autocomplete [role="option"]').allTextContents();
  if (!options.some((option) => option.startsWith('src_addr') && option.includes('address'))) fail(`${here}: src_ is completed as ${options}`);
  await page.waitForSelector('.cm-completionInfo', WAIT);
  const inside = await page.locator('.cm-tooltip-autocomplete').evaluate((box) => box.getBoundingClientRect().right <= document.documentElement.clientWidth);
  if (!inside) fail(`${here}: completions are cut`);
  await judge(`${here}, completions`);
  await picture('completion');
  // CodeMirror takes no key for a completion that has just come.
  await page.waitForTimeout(200);
  await page.keyboard.press('Enter');
  const text = await textOf(page);
  if (!/select src_\w+$/.test(text) || text.endsWith('src_')) fail(`${here}: the completion gave ${text}`);

  // What it is and costs.
  await write(page, RIGHT);
  await page.waitForSelector('[data-explained="page_check"]', WAIT);
  const explained = await page.locator('[data-explained="page_check"]').textContent();
  const [expected] = (await ask(RIGHT)).explanation.queries;
  for (const word of [expected.class, expected.window, 'Memory', 'Reaction', ...expected.exactness]) {
    if (!explained.includes(word)) fail(`${here}: the explanation has no ${word}: ${explained}`);
  }
  if (await page.locator('.cm-lintRange-error').count()) fail(`${here}: an error stays`);
  await judge(`${here}, explained`);
  await picture('explained');

  // Behind the name of a query its columns, and nodes where one is asked for.
  const { nodes } = await api('/language');
  for (const [more, expected] of [['\nx: select count(*) every 1s when page_check.', 'sources'], ['\nx: select count(*) where node_id = ', nodes[0]]]) {
    await page.keyboard.type(more);
    await page.waitForSelector('.cm-tooltip-autocomplete', WAIT);
    const offered = await page.locator('.cm-tooltip-autocomplete [role="option"]').allTextContents();
    if (!offered.some((option) => option.includes(expected))) fail(`${here}: ${more} is completed as ${offered}, without ${expected}`);
    await page.keyboard.press('Escape');
    await write(page, RIGHT);
    await page.waitForSelector('[data-explained="page_check"]', WAIT);
  }

  // The text is in the address: who opens that has it.
  await page.waitForFunction(() => new URLSearchParams(location.search).has('text'), null, WAIT);
  await page.goto(page.url(), { waitUntil: 'load' });
  await page.waitForSelector('[data-explained="page_check"]', WAIT);
  if ((await textOf(page)) !== RIGHT) fail(`${here}: the address gives ${await textOf(page)}`);
  await install({ page, api, fail, here });
}

async function install({ page, api, fail, here }) {
  const { mode } = await api('/status');
  const button = page.getByRole('button', { name: 'Install' });
  if (mode === 'run') {
    if (await button.count()) fail(`${here}: a run installs nothing, and offers it`);
    return write(page, '');
  }
  await page.locator(BOX).focus();
  await page.keyboard.press('Control+Enter');
  await page.getByText('page_check stands.').waitFor(WAIT);
  const names = async () => (await api('/queries')).queries.map(({ name }) => name);
  if (!(await names()).includes('page_check')) fail(`${here}: page_check does not stand`);
  if ((await textOf(page)) !== '') fail(`${here}: the text stays`);
  // What stands is edited, and takes its own place.
  const edited = RIGHT.replace('limit 3', 'limit 4');
  await page.getByRole('button', { name: 'Edit page_check', exact: true }).click();
  await write(page, edited);
  await page.getByRole('button', { name: 'Replace', exact: true }).waitFor(WAIT);
  await page.locator(BOX).focus();
  await page.keyboard.press('Control+Enter');
  await page.getByText('page_check stands.').waitFor(WAIT);
  const own = (await api('/queries')).queries.filter(({ name }) => name === 'page_check');
  if (own.length !== 1 || !own[0].text.includes('limit 4')) fail(`${here}: page_check is not replaced: ${JSON.stringify(own.map(({ text }) => text))}`);
  await page.getByRole('button', { name: 'Remove page_check', exact: true }).click();
  await page.getByRole('button', { name: 'Yes, remove page_check' }).click();
  await page.locator('section[aria-label="page_check"]').waitFor({ ...WAIT, state: 'detached' });
  if ((await names()).includes('page_check')) fail(`${here}: page_check is not removed`);
}

async function write(page, text) {
  await page.locator(BOX).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  // Closing quotes and brackets are added while it is typed: these texts have brackets that are closed at once.
  await page.keyboard.type(text);
}

const textOf = (page) => page.locator(`${BOX} .cm-line`).evaluateAll((lines) => lines.map((line) => (line.querySelector('.cm-placeholder') ? '' : line.textContent)).join('\n'));
