// What a dry run found, in words and as tracks of a time line.

import type { DryRun, Event, Span } from '../api/types';
import type { Played } from '../state/playing.svelte';
import { counted } from './number';
import { milliseconds, span } from './time';

/** Tracks that are drawn; the table has all events. */
export const MOST_TRACKS = 40;

/** How long a condition held, for one key on one node. */
export interface Bar {
  /** Milliseconds since the epoch. */
  start: number;
  end: number;
  /** It held when the time ended. */
  isOpen: boolean;
}

export interface Track {
  query: string;
  bars: Bar[];
  /** Other changes: no data, time-outs. */
  marks: { at: number; kind: string }[];
  fired: number;
}

const place = ({ query, node, key }: Event) => JSON.stringify([query, node, key]);

/** A track for each query, in the order in which they first did something. */
export function tracks({ events, period, more_events }: DryRun): Track[] {
  const found = new Map<string, Track>();
  const open = new Map<string, Bar>();
  // What came after the last event that is listed is not known.
  const cut = Number(more_events) ? events.at(-1)?.at : undefined;
  const last = milliseconds(cut ?? period.end);
  for (const event of events) {
    const track = found.get(event.query) ?? { query: event.query, bars: [], marks: [], fired: 0 };
    found.set(event.query, track);
    const at = milliseconds(event.at);
    const bar = open.get(place(event));
    if (event.kind === 'fired') {
      track.fired += 1;
      if (bar) [bar.end, bar.isOpen] = [at, false];
      const begun = { start: at, end: last, isOpen: true };
      track.bars.push(begun);
      open.set(place(event), begun);
    } else if (bar && (event.kind === 'resolved' || event.kind === 'expired')) {
      [bar.end, bar.isOpen] = [at, false];
      open.delete(place(event));
    } else {
      track.marks.push({ at, kind: event.kind });
    }
  }
  return [...found.values()];
}

/** The answer in one sentence. */
export function sentence({ run }: Played, now: string): string {
  if (!run.judged) return 'No window of this time is remembered: nothing can be said.';
  const when = span(run.judged as Span, now);
  const queries = new Set(run.events.filter(({ kind }) => kind === 'fired').map(({ query }) => query)).size;
  if (Number(run.fired) === 0) return `Nothing would have fired in ${when}.`;
  const times = Number(run.fired) === 1 ? 'once' : `${run.fired} times`;
  return `It would have fired ${times}${queries > 1 ? `, in ${counted(queries, 'query', 'queries')},` : ''} in ${when}.`;
}

/** How many of the events happened, where any did. */
export function compared({ run, live }: Played): string {
  if (live === null) return 'What happened in this time is not known.';
  const same = run.events.filter(({ event }) => live.has(event)).length;
  if (!live.size) return 'No query that stands had an event in this time.';
  return same === run.events.length && same === live.size
    ? `These are the ${counted(same, 'event')} that happened.`
    : `${same} of these ${counted(run.events.length, 'event')} happened; in all ${counted(live.size, 'event')} did.`;
}
