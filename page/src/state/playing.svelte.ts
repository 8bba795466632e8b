// A dry run: what queries would have done in a time that stores remember.

import { address, get, post } from '../api/client';
import type { DryRun, Event } from '../api/types';
import { milliseconds } from '../words/time';
import { Asking } from './asking.svelte';

/** Events of the time that are compared. */
const MOST_LIVE = 10_000;

export interface Played {
  text: string;
  from: string;
  to: string;
  run: DryRun;
  /** The identifiers of events that happened; null where that is not known. */
  live: Set<string> | null;
}

export const call = (from: string, to: string) => address('/dry-run', { file: 'page.eq', from, to });

export class Playing extends Asking {
  found = $state.raw<Played | null>(null);

  ask(text: string, from: string, to: string): Promise<void> {
    return this.during(async (signal) => {
      const run = await post<DryRun>(call(from, to), text, signal).catch((error) => {
        // What came of another text or time is no answer to this one.
        if (!signal.aborted) this.found = null;
        throw error;
      });
      if (signal.aborted) return;
      this.found = { text, from, to, run, live: null };
      const { start, end } = run.period;
      // Both tell of windows that end after the begin, up to the end; the API leaves out what is at `until`.
      const until = new Date(milliseconds(end) + 1000).toISOString();
      const said = await get<{ events: Event[] }>(address('/events', { since: start, until, limit: MOST_LIVE })).catch(() => null);
      const happened = said?.events.filter(({ at }) => start < at && at <= end).map(({ event }) => event);
      if (!signal.aborted && happened) this.found = { ...this.found, live: new Set(happened) };
    });
  }
}
