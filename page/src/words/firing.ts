// What fires now.

import type { Event, Query, Status } from '../api/types';
import { milliseconds } from './time';

/** For so long a firing that was resolved is news. */
export const NEWS_MS = 10 * 60 * 1000;

/** The newest firing of each condition that holds, the newest first. */
export function firing(queries: Query[], events: Event[]): Event[] {
  const active = new Map(queries.map(({ name, trigger }) => [name, (trigger?.edges ?? []).filter(({ phase }) => phase === 'active')]));
  const found = new Map<string, Event>();
  for (const event of events) {
    if (event.kind !== 'fired' || !active.get(event.query)?.some(({ node }) => node === event.node)) continue;
    const id = JSON.stringify([event.query, event.node]);
    if (!found.has(id)) found.set(id, event);
  }
  return [...found.values()];
}

/** The newest firing, if it is news: still active, recent, or of a run. */
export function news(status: Status, queries: Query[], events: Event[]): Event | undefined {
  const newest = events.find((event) => event.kind === 'fired');
  if (!newest || status.mode === 'run') return newest;
  const isRecent = milliseconds(status.now) - milliseconds(newest.at) < NEWS_MS;
  return isRecent ? newest : firing(queries, events)[0];
}
