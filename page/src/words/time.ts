// Times as text: always UTC; the date only where it is not the reader's.

import type { Integer, Span, Time } from '../api/types';

/** `14:20:02`, `14:20:02.5`, or `2024-01-01 00:00:02` where that is not the day of `now`. */
export function time(at: Time, now?: Time | null): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(at);
  if (!match) return at;
  const fraction = (match[3] ?? '').replace(/0+$/, '').replace(/^\.$/, '').slice(0, 4);
  const clock = match[2] + fraction;
  return now && match[1] !== now.slice(0, 10) ? `${match[1]} ${clock}` : clock;
}

/** `14:20:01–14:20:02` */
export function span(window: Span, now?: Time | null): string {
  const isOneDay = window.start.slice(0, 10) === window.end.slice(0, 10);
  return `${time(window.start, now)}–${time(window.end, isOneDay ? undefined : now)}`;
}

/** Milliseconds since the epoch. */
export const milliseconds = (at: Time): number => Date.parse(at.replace(/(\.\d{3})\d*Z$/, '$1Z'));

/** `1 s`, `5 min`, `250 ms` */
export function duration(ns: Integer): string {
  const seconds = Number(ns) / 1e9;
  const short = (value: number) => String(Math.round(value * 1000) / 1000);
  if (seconds !== 0 && seconds < 1e-3) return `${short(seconds * 1e6)} µs`;
  if (seconds !== 0 && seconds < 1) return `${short(seconds * 1e3)} ms`;
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600} h`;
  if (seconds >= 120 && seconds % 60 === 0) return `${seconds / 60} min`;
  return `${short(seconds)} s`;
}

/** The time `ns` nanoseconds later, to the millisecond. */
export const later = (at: Time, ns: Integer): Time =>
  new Date(milliseconds(at) + Number(ns) / 1e6).toISOString();
