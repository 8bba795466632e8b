// From the moment at which the API has a new event to the moment at which the page shows it.

import { writeFileSync } from 'node:fs';
import { wordsOf } from './text.mjs';

const MOST_MS = 2000;
const POLL_MS = 25;

export async function awaitEvent({ page, base, api, seconds, fail, ready }) {
  await page.goto(`${base}/events`);
  await page.waitForSelector('h1');
  const ids = async () => (await api('/events?limit=200')).events;
  const known = new Set((await ids()).map(({ event }) => event));
  if (ready) writeFileSync(ready, '');
  const until = Date.now() + seconds * 1000;
  let event;
  while (!event && Date.now() < until) {
    event = (await ids()).find((one) => !known.has(one.event));
    if (!event) await new Promise((done) => setTimeout(done, POLL_MS));
  }
  if (!event) {
    fail(`no new event within ${seconds} s`);
    return null;
  }
  const seen = performance.now();
  const words = wordsOf(event);
  const isThere = await page
    .waitForFunction(
      ([id, words]) =>
        [...document.querySelectorAll('[data-event]')].some(
          (element) => element.getAttribute('data-event') === id && words.every((word) => element.textContent.replaceAll(',', '').includes(word)),
        ),
      [event.event, words],
      { timeout: MOST_MS * 3, polling: POLL_MS },
    )
    .then(() => true, () => false);
  const shown_ms = Math.round(performance.now() - seen);
  if (!isThere) fail(`event ${event.event} is not on the page with ${JSON.stringify(words)}`);
  else if (shown_ms > MOST_MS) fail(`event ${event.event} is on the page after ${shown_ms} ms`);
  return { event: event.event, query: event.query, kind: event.kind, shown_ms: isThere ? shown_ms : null };
}
