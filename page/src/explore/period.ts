// Which time is asked about, and how long its windows are.

import type { Node, Status, Time } from '../api/types';
import { milliseconds, time, day } from '../words/time';
import { durationText, FORMS, isRelative, moment, seconds } from './moment';

export { durationText, seconds } from './moment';

/** Windows that a chart draws by itself, and the most that it takes. */
export const USUAL_WINDOWS = 240;
export const MOST_WINDOWS = 10_000;

export const LADDER = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800];

export interface Period {
  /** Seconds since the epoch, multiples of `every`. */
  start: number;
  end: number;
  every: number;
  /** What was asked would have been too many windows. */
  isCoarser: boolean;
}

/** Nothing was said, for which the end of a run may stand. */
const isNow = (to: string, now: string) => to.trim() === '' || to === now;

/** From when to when, seconds since the epoch, or what is wrong with it. */
function between(from: string, to: string, now: string): { start: number; end: number } | string {
  const today = milliseconds(now) / 1000;
  // Yesterday ends with it.
  const [start, end] = [moment(from, today), moment(/^\s*yesterday\s*$/i.test(from) && isNow(to, now) ? 'today' : to, today)];
  if (start === null) return `From "${from}": ${FORMS}.`;
  if (end === null) return `To "${to}": ${FORMS}.`;
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
  const last = to.trim() === '' || isRelative(to) ? Math.floor(end / length) : Math.ceil(end / length);
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
  const ago = isRelative(from) && to === '' ? seconds(from.replace(/^(now\s*)?-/, '')) : null;
  if (/^(today|yesterday)$/i.test(from) && to === '') return from.toLowerCase();
  if (ago !== null) return `in the last ${{ 60: 'minute', 3600: 'hour', 86400: 'day', 604800: 'week' }[ago] ?? spaced(Math.round(ago))}`;
  const [first, last] = [timeText(start), timeText(end)];
  return `from ${time(first, now)} to ${time(last, day(first) === day(last) ? undefined : now)}`;
}

export const spaced = (length: number) => durationText(length).replace(/(\d)([a-z])/, '$1 $2');
