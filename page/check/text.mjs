// Whether the page shows what the API says. Both may change while they are read: they are compared until they agree.

const WAIT_MS = 5000;

/** `expected` gives a list of {selector, text, isWhole}. Answers null, or what is wrong. */
export async function isShown(page, expected) {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const why = await compare(page, await expected());
    if (why === null || Date.now() > until) return why;
    await page.waitForTimeout(100);
  }
}

async function compare(page, all) {
  for (const { selector, text, isWhole } of all) {
    const shown = await page.locator(selector).allTextContents();
    if (shown.length === 0) return `no ${selector}`;
    const fits = (found) => (isWhole ? found.trim() === text.trim() : found.includes(text));
    if (!shown.some(fits)) return `${selector} is ${JSON.stringify(shown[0])}, not ${JSON.stringify(text)}`;
  }
  return null;
}

/** What the element of an event must have: all that the event says; without commas, because those group digits. Durations have units of their own. */
export function wordsOf(event) {
  const isDuration = (name) => event.columns.find((column) => column.name === name)?.unit === 'ns';
  const figures = Object.entries(event.values)
    .filter(([name]) => !isDuration(name))
    .map(([, value]) => (typeof value === 'object' ? value?.value : value));
  return [event.query, event.kind, event.node, event.title, event.kind === 'fired' ? null : event.text, ...Object.values(event.key), ...figures]
    .filter((word) => (typeof word === 'string' && word !== '') || Number.isInteger(word))
    .map((word) => String(word).replaceAll(',', ''));
}
