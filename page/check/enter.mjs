// Looks at the page of a controller with tokens, and fails if it does not ask for one as it should.
//
//   node check/enter.mjs URL FILE
//
// FILE has a token of the role view. A wrong token is refused in words; the right one shows the page, also after it is loaded anew, and leaves
// nothing that a script can read; what the role may not do is said, and not offered; after `Leave` a token is asked for again. Prints a line of JSON.

import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, file] = process.argv.slice(2);
if (!url || !file) {
  console.error('usage: node check/enter.mjs URL FILE');
  process.exit(2);
}
const token = readFileSync(file, 'utf8').trim();
const failures = [];
const expect = (holds, text) => holds || failures.push(text);

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const page = await browser.newPage();
  const enter = async (text) => {
    await page.fill('#token', text);
    await page.click('form button');
  };
  const isIn = () => page.waitForSelector('header >> text=(view)');
  await page.goto(`${url.replace(/\/+$/, '')}/queries`);
  await page.waitForSelector('#token');
  expect(!(await page.isVisible('#equery')), 'the page is shown without a token');
  await enter(token.replace(/.{64}$/, '0'.repeat(64)));
  await page.waitForSelector('#refused .error');
  expect((await page.textContent('#refused')).includes('no such token'), 'a wrong token is not called so');
  await enter(token);
  await isIn();
  const kept = await page.evaluate(() => [document.cookie, sessionStorage.length, localStorage.length].join());
  expect(kept === ',0,0', `a script can read ${kept}`);
  await page.reload();
  await isIn();
  await page.fill('#equery', 'q: select count(*) as n');
  await page.waitForSelector('[data-explained="q"]');
  expect((await page.textContent('#may')).includes('takes the role run'), 'what the role may not do is not said');
  expect(await page.isDisabled('button:text("Install")'), 'what the role may not do is offered');
  await page.press('#equery', 'Control+Enter');
  const { queries } = await page.evaluate(() => fetch('/api/v1/queries').then((response) => response.json()));
  expect(queries.length === 0, 'the role view has installed a query');
  await page.click('text=Leave');
  await page.waitForSelector('#token');
  await page.goto(url);
  await page.waitForSelector('#token');
} catch (error) {
  failures.push(`the check stopped: ${error.stack ?? error}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ url, failures }));
process.exit(failures.length === 0 ? 0 : 1);
