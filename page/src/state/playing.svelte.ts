// A dry run: what queries would have done in a time that stores remember.

import { address, get, post } from '../api/client';
import type { DryRun, Event } from '../api/types';
import { Asking } from './asking.svelte';

/** Events of the time that are compared. */
const MOST_LIVE = 10_000;

export interface Played {
  text: string;
  run: DryRun;
  /** The identifiers of events that happened. */
  live: Set<string>;
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
      const { start, end } = run.period;
      const { events } = await get<{ events: Event[] }>(address('/events', { since: start, until: end, limit: MOST_LIVE }));
      if (!signal.aborted) this.found = { text, run, live: new Set(events.map(({ event }) => event)) };
    });
  }
}
