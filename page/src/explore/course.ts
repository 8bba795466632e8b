// How groups went over time: a figure for each window, and nothing where a window has no answer.

import type { Answer, Value } from '../api/types';
import { milliseconds } from '../words/time';
import { identity, isLeast, read, whole } from './ranking';
import { minus, NONE, plus, ZERO, type Range } from './range';
import { NAMES, type Question } from './text';

export interface Line {
  id: string;
  /** Of each window; null where nothing is known. */
  figures: (Range | null)[];
}

export interface Mark {
  /** First window and the one behind the last. */
  from: number;
  to: number;
  reason: string;
}

export interface Course {
  /** Begins of windows, seconds. */
  times: number[];
  every: number;
  lines: Line[];
  others: Line | null;
  all: Line | null;
  /** Windows that were not seen in full. */
  marks: Mark[];
  /** Windows without an answer. */
  gaps: number;
  /** The last windows of a time that is not over, which stores do not have yet. */
  newest: number;
}

/** Seconds after which a window is in a store, and some more. */
const LAG = 60;

interface Slot {
  answer: Answer;
  at: number;
}

/** The windows that each answer is of; a run of empty ones is several. */
export function slots(answers: Answer[], times: number[], every: number, by: number): Slot[] {
  return answers.flatMap((answer) => {
    if (!answer.window) return [];
    const [start, end] = [answer.window.start, answer.window.end].map((at) => milliseconds(at) / 1000 + by);
    const first = Math.max(0, Math.round((start - times[0]) / every));
    const last = Math.min(times.length, Math.round((end - times[0]) / every));
    return Array.from({ length: Math.max(0, last - first) }, (_, at) => ({ answer, at: first + at }));
  });
}

/** By which a figure becomes one per second: what was watched of the window. */
export function length({ watched, empty }: Answer, every: number): number | null {
  if (!watched || empty !== undefined) return every;
  const seen = (milliseconds(watched.end) - milliseconds(watched.start)) / 1000;
  return seen >= every / 100 ? Math.min(seen, every) : null;
}

export const scaled = (of: Range, by: number): Range => {
  const part = (value: Range['value']) => (value === null ? null : Number(value) / by);
  return { value: part(of.value), lower: part(of.lower), upper: part(of.upper) };
};

export function course(answers: Answer[], of: Question, groups: { node: string | null; key: Value[] }[], isEarlier: boolean): Course {
  const { period, measure } = of;
  const by = isEarlier ? (of.earlier ?? 0) : 0;
  const count = Math.round((period.end - period.start) / period.every);
  const times = Array.from({ length: count }, (_, at) => period.start + at * period.every);
  const named = (now: string, before: string) =>
    slots(answers.filter(({ query }) => query === (isEarlier ? before : now)), times, period.every, by);
  const own = named(NAMES.course, NAMES.courseBefore);
  const total = named(NAMES.all, NAMES.allBefore);
  const empty = () => times.map((): Range | null => null);
  const lines = new Map(groups.map(({ node, key }) => [identity(node, key), { id: identity(node, key), figures: empty() }]));
  const all = total.length ? { id: 'all', figures: empty() } : null;
  const pinned = empty();
  const known = new Map<number, number>();

  for (const { answer, at } of own) {
    const seconds = measure.isRate ? length(answer, period.every) : 1;
    const rows = new Map(read(answer, of).groups.map((group) => [identity(group.node, group.key), group.figure]));
    known.set(at, (known.get(at) ?? 0) + 1);
    for (const { node, key } of groups) {
      if (of.isByNode && node !== answer.node) continue;
      const found = rows.get(identity(node, key));
      const isZero = measure.isSum && answer.status === 'complete' && (found === undefined || answer.empty !== undefined);
      const figure = found ?? (isZero ? ZERO : isLeast(answer, of) && rows.size ? { ...ZERO, upper: null } : null);
      if (figure === null || figure === NONE || seconds === null) continue;
      // A row that is not there in a part of a window is no zero: it is not drawn, but nothing is added.
      if (found !== undefined || isZero) lines.get(identity(node, key))!.figures[at] = scaled(figure, seconds);
      pinned[at] = plus(pinned[at] ?? ZERO, scaled(figure, seconds));
    }
  }
  for (const { answer, at } of total) {
    const seconds = measure.isRate ? length(answer, period.every) : 1;
    const isNothing = answer.rows.length === 0 && answer.status !== 'complete' && Number(answer.rest?.groups ?? 0) === 0;
    const found = isNothing ? NONE : whole(answer, of);
    if (seconds !== null && found !== NONE) all!.figures[at] = plus(all!.figures[at] ?? ZERO, scaled(found, seconds));
  }
  const others = all && { id: 'others', figures: all.figures.map((one, at) => (one && pinned[at] ? minus(one, pinned[at]!) : one && known.has(at) ? one : null)) };
  const answered = new Set([...own, ...total].filter(({ answer, at }) => answer.rows.length || answer.status === 'complete' || all?.figures[at]).map(({ at }) => at));
  const last = Math.max(-1, ...answered);
  const isNow = of.to === '' && last >= 0 && (count - 1 - last) * period.every <= Math.max(LAG, period.every);
  const newest = isNow ? count - 1 - last : 0;
  return { times, every: period.every, lines: [...lines.values()], others, all, marks: marks([...own, ...total]), gaps: count - answered.size - newest, newest };
}

/** Neighbouring windows with the same reason are one. */
export function marks(all: Slot[]): Mark[] {
  const reasons = new Map<number, string>();
  for (const { answer, at } of all) {
    if (answer.status === 'complete') continue;
    reasons.set(at, answer.reason ?? (answer.status === 'cut' ? 'watched in part' : 'something is missing'));
  }
  const found: Mark[] = [];
  for (const [at, reason] of [...reasons].sort(([a], [b]) => a - b)) {
    const last = found.at(-1);
    if (last && last.to === at && last.reason === reason) last.to = at + 1;
    else found.push({ from: at, to: at + 1, reason });
  }
  return found;
}
