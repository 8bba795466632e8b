// Times as text, in UTC or in the reader's own zone; the date only where it is not the reader's.

import type { Integer, Span, Time } from '../api/types';

const MINUTE_MS = 60_000;

/** The zone in which times are told. Who changes it draws the page anew. */
export const zone = {
  isLocal: false,
  /** `UTC`, `UTC+1`, `UTC−3:30`. */
  get name(): string {
    return this.isLocal ? zoneName(-new Date().getTimezoneOffset()) : 'UTC';
  },
};

export function zoneName(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return minutes === 0 ? 'UTC' : `UTC${minutes > 0 ? '+' : '−'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
}

/** Where clocks of the zone of the page are ahead of UTC, so is the text. */
function told(at: Time): Time {
  if (!zone.isLocal) return at;
  const ms = milliseconds(at);
  if (!Number.isFinite(ms)) return at;
  const shifted = new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE_MS).toISOString();
  return shifted.slice(0, 19) + at.slice(19);
}

/** The day of a time, in the zone of the page: `2026-11-26`. */
export const day = (at: Time): string => told(at).slice(0, 10);

/** `14:20:02`, `14:20:02.5`, or `2024-01-01 00:00:02` where that is not the day of `now`. */
export function time(at: Time, now?: Time | null): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(told(at));
  if (!match) return at;
  const fraction = (match[3] ?? '').replace(/0+$/, '').replace(/^\.$/, '').slice(0, 4);
  const clock = match[2] + fraction;
  return now && match[1] !== told(now).slice(0, 10) ? `${match[1]} ${clock}` : clock;
}

/** `14:20:01–14:20:02` */
export function span(window: Span, now?: Time | null): string {
  const isOneDay = told(window.start).slice(0, 10) === told(window.end).slice(0, 10);
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

/** Of an axis over so many seconds: the day where there are several, seconds where there are few. */
export function clock(seconds: number, length: number): string {
  const text = told(new Date(seconds * 1000).toISOString());
  if (length > 4 * 86_400) return text.slice(5, 10);
  if (length > 86_400) return `${text.slice(8, 10)}. ${text.slice(11, 16)}`;
  if (length > 1200) return text.slice(11, 16);
  return length > 10 ? text.slice(11, 19) : text.slice(17, 23).replace(/^0/, '');
}
