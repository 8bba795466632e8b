// Which time is asked about, and how long its windows are.

import type { Node, Status, Time } from '../api/types';
import { milliseconds, time } from '../words/time';

/** Windows that a chart draws by itself, and the most that it takes. */
export const USUAL_WINDOWS = 240;
export const MOST_WINDOWS = 10_000;

const UNITS: Record<string, number> = { s: 1, min: 60, h: 3600, d: 86_400, w: 604_800 };
export const LADDER = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800];

/** Seconds of `30s`, `10min`, `1h`; null if it is none. */
export function seconds(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(s|min|h|d|w)$/.exec(text.trim());
  const found = match ? Number(match[1]) * UNITS[match[2]] : 0;
  return found > 0 && Number.isFinite(found) ? found : null;
}

/** `90s`, `10min`, `1h`: as Equery writes it. */
export function durationText(length: number): string {
  const [unit, size] = Object.entries(UNITS).reverse().find(([, size]) => length >= size && length % size === 0) ?? ['s', 1];
  return `${length / size}${unit}`;
}

/** Seconds since the epoch; `now` where nothing is said; null if it is no time. */
function moment(text: string, now: number): number | null {
  const said = text.trim();
  if (said === '') return now;
  if (said.startsWith('-')) {
    const ago = seconds(said.slice(1));
    return ago === null ? null : now - ago;
  }
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z?)?$/.exec(said);
  const found = match ? Date.parse(`${match[1]}T${match[2] ?? '00:00'}Z`) / 1000 : NaN;
  return Number.isFinite(found) && found >= 0 ? found : null;
}

export interface Period {
  /** Seconds since the epoch, multiples of `every`. */
  start: number;
  end: number;
  every: number;
  /** What was asked would have been too many windows. */
  isCoarser: boolean;
}

/** From when to when, seconds since the epoch, or what is wrong with it. */
function between(from: string, to: string, now: string): { start: number; end: number } | string {
  const today = milliseconds(now) / 1000;
  const [start, end] = [moment(from, today), moment(to, today)];
  const form = 'a time is -1h, -30min, 2026-11-26 or 2026-11-26 14:20 (UTC)';
  if (start === null) return `From "${from}": ${form}.`;
  if (end === null) return `To "${to}": ${form}.`;
  return end <= start ? 'The period is empty: it ends before it begins.' : { start, end };
}

/** The period, or what is wrong with it. */
function period(from: string, to: string, every: string, now: string, base: number): Period | string {
  const times = between(from, to, now);
  if (typeof times === 'string') return times;
  const { start, end } = times;
  if (every && seconds(every) === null) return `Every "${every}": a length is 10s, 5min or 1h.`;
  const wanted = every ? whole(seconds(every)!, base) : fitting(end - start, base, USUAL_WINDOWS);
  const isCoarser = (end - start) / wanted > MOST_WINDOWS;
  const length = isCoarser ? fitting(end - start, base, MOST_WINDOWS - 2) : wanted;
  // What is relative ends with the last window that is over.
  const last = to.trim() === '' || to.trim().startsWith('-') ? Math.floor(end / length) : Math.ceil(end / length);
  const first = Math.min(Math.floor(start / length), last - 1);
  return { start: first * length, end: last * length, every: length, isCoarser };
}

/** The least multiple of what nodes have that is not shorter. */
const whole = (length: number, base: number) => Math.max(1, Math.ceil(length / base - 1e-9)) * base;

function fitting(span: number, base: number, most: number): number {
  const least = whole(span / most, base);
  const found = LADDER.find((length) => length % base === 0 && length >= least - 1e-9);
  // Of windows of an odd length there may be no round multiple near.
  return found !== undefined && found <= 4 * least ? found : least;
}

/** The length of the windows of nodes, seconds. */
function baseOf(nodes: Node[]): number {
  const lengths = nodes.flatMap(({ window }) => (window ? [(milliseconds(window.end) - milliseconds(window.start)) / 1000] : []));
  return Math.max(1, ...lengths.filter(Number.isFinite));
}

/** Of a run that has ended, its end: that may be years ago. */
const endOf = ({ mode, span }: Status): Time | null => (mode === 'run' ? (span?.end ?? null) : null);

/** The same of what a status tells of: the time that `-1h` counts from is that of a run over captures, which ends with its last packet. */
export const periodOf = (status: Status, from: string, to: string, every: string): Period | string =>
  period(from, to.trim() === '' ? (endOf(status) ?? '') : to, every, endOf(status) ?? status.now, baseOf(status.nodes));

/** From when to when, whatever the windows. */
export const timesOf = (status: Status, from: string, to: string) =>
  between(from, to.trim() === '' ? (endOf(status) ?? '') : to, endOf(status) ?? status.now);

export const timeText = (at: number): string => new Date(at * 1000).toISOString().replace('.000Z', 'Z');

/** `in the last hour`, or from when to when. */
export function periodWords(from: string, to: string, { start, end }: Period, now: string): string {
  const ago = from.startsWith('-') && to === '' ? seconds(from.slice(1)) : null;
  if (ago !== null) return `in the last ${{ 60: 'minute', 3600: 'hour', 86400: 'day', 604800: 'week' }[ago] ?? spaced(ago)}`;
  const [first, last] = [timeText(start), timeText(end)];
  return `from ${time(first, now)} to ${time(last, first.slice(0, 10) === last.slice(0, 10) ? undefined : now)}`;
}

export const spaced = (length: number) => durationText(length).replace(/(\d)([a-z])/, '$1 $2');
