// The state of an edge in words.

import type { Edge, Event, KeyState, Time, Trigger } from '../api/types';
import { counted } from './number';
import { duration, later, time } from './time';

export interface Phase {
  text: string;
  tone: 'fired' | 'waiting' | 'unknown' | 'calm';
  /** The event that it speaks of. */
  event: string | null;
}

/** `fired`: the newest firing of the edge that is known. */
export function phase(edge: Edge, trigger: Trigger, fired: Event | undefined, now: Time | null): Phase {
  const keys = Number(edge.keys) > 1 ? `, ${counted(edge.keys, 'key')}` : '';
  const since = edge.since ? ` since ${time(edge.since, now)}` : '';
  const event = edge.event ?? fired?.event ?? null;
  switch (edge.phase) {
    case 'pending': {
      const wait = Number(trigger.for_ns ?? 0) ? `, fires after ${duration(trigger.for_ns!)}` : '';
      return { text: `pending${since}${wait}${keys}`, tone: 'waiting', event: null };
    }
    case 'active': {
      const at = fired?.at ?? edge.since;
      return { text: `fired${at ? ` ${time(at, now)}` : ''}${keys}`, tone: 'fired', event };
    }
    case 'recovering': {
      const known = fired && Number(trigger.cooldown_ns ?? 0) ? later(fired.at, trigger.cooldown_ns!) : null;
      const until = edge.until ?? known;
      const text = until ? `recovering until ${time(until, now)}` : `recovering${since}`;
      return { text: text + (fired ? `, fired ${time(fired.at, now)}` : ''), tone: 'waiting', event };
    }
    case 'no_data':
      return { text: `no data${since}`, tone: 'unknown', event: null };
    case 'idle': {
      const text = fired ? `armed, last fired ${time(fired.at, now)}` : 'armed';
      return { text, tone: 'calm', event: fired?.event ?? null };
    }
    default:
      return { text: edge.phase, tone: 'unknown', event: null };
  }
}

/** The state of one key. */
export function keyPhase({ phase, since, until, event }: KeyState, now: Time | null): Phase {
  const from = since ? ` since ${time(since, now)}` : '';
  if (phase === 'active') return { text: since ? `fired ${time(since, now)}` : 'fired', tone: 'fired', event };
  if (phase === 'pending') return { text: `pending${from}`, tone: 'waiting', event: null };
  return { text: until ? `quiet until ${time(until, now)}` : 'quiet', tone: 'waiting', event };
}
