// Why traffic changed, in Explore: what is listed adds up, each choice is in the address, and a row that is pointed at lights its series.
//
//   node check/why.mjs URL [--screenshots FOLDER]
//
// At 1280 and 400 pixels, light and dark: nothing scrolls sideways, and axe calls nothing serious. Prints a line of JSON.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [url, ...rest] = process.argv.slice(2);
if (!url) {
  console.error('usage: node check/why.mjs URL [--screenshots FOLDER]');
  process.exit(2);
}
const base = url.replace(/\/+$/, '');
const screenshots = rest.includes('--screenshots') ? rest[rest.indexOf('--screenshots') + 1] : null;
if (screenshots) mkdirSync(screenshots, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const failures = [];
const fail = (text) => failures.push(text);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
const ASKED = '/explore?from=-1h&compare=1h&why=all';

async function opened(width, scheme, path) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: true });
  const page = await context.newPage();
  page.on('pageerror', (error) => fail(`${path}: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && fail(`${path}: ${message.text()}`));
  await page.goto(base + path);
  return page;
}

const contributors = (page) => page.locator('[data-why] [data-contributor]');

for (const [width, scheme] of [[1280, 'light'], [1280, 'dark'], [400, 'light'], [400, 'dark']]) {
  const page = await opened(width, scheme, ASKED);
  await contributors(page).first().waitFor({ timeout: 60_000 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) fail(`${width} ${scheme}: ${wide} pixels scroll sideways`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, impact, nodes } of violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))) fail(`${width} ${scheme}: ${impact} ${id} ${nodes[0].html.slice(0, 120)}`);
  if (screenshots) await page.screenshot({ path: `${screenshots}/why-${width}-${scheme}.png`, fullPage: true });
  await page.context().close();
}

const page = await opened(1280, 'light', ASKED);
await contributors(page).first().waitFor({ timeout: 60_000 });
// Of each field: what is listed and the rest are all.
const fields = await page.locator('[data-why] .fields button').allTextContents();
if (fields.length < 7) fail(`${fields.length} fields: ${fields.join(', ')}`);
for (const field of fields) {
  await page.locator('[data-why] .fields button', { hasText: new RegExp(`^${field}$`) }).click();
  const differences = await page.locator('[data-why] table [data-difference]').evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.difference)));
  const all = differences.pop();
  const sum = differences.reduce((total, one) => total + one, 0);
  if (Math.abs(sum - all) > 1e-6 * Math.abs(all) + 1) fail(`${field}: ${sum} is not ${all}`);
}
if (!page.url().includes('whyby=')) fail(`the field is not in the address: ${page.url()}`);
// A part that is dragged over is explained, against the same part an hour earlier.
await page.getByRole('button', { name: 'a part of it' }).click();
await page.locator('.u-over').first().scrollIntoViewIfNeeded();
const chart = await page.locator('.u-over').first().boundingBox();
await page.mouse.move(chart.x + chart.width * 0.4, chart.y + 60);
await page.mouse.down();
await page.mouse.move(chart.x + chart.width * 0.6, chart.y + 60, { steps: 5 });
await page.mouse.up();
await page.waitForURL(/why=\d{4}-/);
await contributors(page).first().waitFor();
if (screenshots) await page.screenshot({ path: `${screenshots}/why-part.png`, fullPage: true });
// A row that is pointed at lights its series: the chart is another picture meanwhile.
const picture = () => page.locator('.uplot canvas').first().evaluate((canvas) => canvas.toDataURL());
const before = await picture();
await page.locator('[data-group]').first().hover();
await page.waitForTimeout(100);
if ((await picture()) === before) fail('a row that is pointed at lights nothing');
if (screenshots) await page.screenshot({ path: `${screenshots}/why-lit.png` });
await page.locator('h1').hover();
await page.waitForTimeout(100);
if ((await picture()) !== before) fail('the series stays lit');
// What is clicked becomes a condition, and can be taken back.
const name = await contributors(page).first().getAttribute('data-contributor');
await contributors(page).first().getByRole('button', { name: /^only/ }).click();
await page.waitForURL(/only=/);
await page.goBack();
await page.waitForURL((to) => !to.search.includes('only='));
// The same address gives the same.
const again = await opened(1280, 'light', new URL(page.url()).pathname + new URL(page.url()).search);
await contributors(again).first().waitFor({ timeout: 60_000 });
if ((await contributors(again).first().getAttribute('data-contributor')) !== name) fail('the address does not give the same');
await browser.close();
console.log(JSON.stringify({ url: base, fields: fields.length, failures }));
process.exit(failures.length ? 1 : 0);
