// A dry run of the queries that stand, over all that is remembered: on the page is what the API says, and that is what happened.

const WAIT = { timeout: 90_000 };
/** How long stores may take to have what happened last, milliseconds. */
const PATIENCE = 60_000;
const PAUSE = 1000;

export async function playDry({ page, base, api, fail, here, judge, picture }) {
  const status = await api('/status');
  const offered = () => page.locator('section[aria-labelledby="dry"]');
  await page.goto(`${base}/queries`, { waitUntil: 'load' });
  await page.waitForSelector('#equery', WAIT);
  if (!status.history) {
    if (await offered().count()) fail(`${here}: a dry run is offered, and nothing is remembered`);
    return;
  }
  const { queries } = await api('/queries');
  if (!queries.length) return;
  const text = [...new Set(queries.flatMap(({ definitions }) => definitions)), ...queries.map((query) => query.text)].join('\n');
  const from = status.span?.start ?? status.started;
  const began = Date.now();
  for (;;) {
    const to = status.span ? '' : new Date().toISOString();
    await page.goto(`${base}/queries?${new URLSearchParams({ from: short(from), to: short(to), text })}`, { waitUntil: 'load' });
    const button = page.getByRole('button', { name: 'Play it' });
    await button.waitFor(WAIT);
    await page.waitForFunction(() => ![...document.querySelectorAll('section[aria-labelledby="dry"] button')][0].disabled, null, WAIT);
    await button.click();
    await page.waitForSelector('[data-played]', WAIT);
    const fired = Number(await page.locator('[data-played]').getAttribute('data-played'));
    const { events } = await api('/events?limit=10000');
    const happened = events.filter(({ kind }) => kind === 'fired').length;
    const said = await offered().textContent();
    // What was remembered last may not be there yet, or more happens meanwhile.
    if (fired === happened && (!fired || said.includes('that happened') || said.includes('happened;'))) break;
    if (Date.now() - began > PATIENCE) {
      fail(`${here}: a dry run fires ${fired} times, and ${happened} times it did: ${said}`);
      break;
    }
    await page.waitForTimeout(PAUSE);
  }
  await offered().locator('summary').first().click({ timeout: 1000 }).catch(() => {});
  await judge(`${here}, a dry run`);
  await picture('dry-run');
}

/** To the second, as the form takes it. */
const short = (at) => at.replace(/\.\d+Z$/, 'Z').replace('T', ' ');
