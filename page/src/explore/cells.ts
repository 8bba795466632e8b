// Figures as cells of a table, all of one unit.

import { number } from '../words/number';
import { change, isExact, type Range } from './range';
import type { Integer } from '../api/types';

/** What a column of figures is headed by, and what it divides by. */
export const scaleOf = (unit: string) => (unit === 'ns' ? { unit: 'ms', by: 1e6 } : { unit, by: 1 });

export function figureCell(range: Range, by: number): string {
  const one = (of: Integer | null) => (of === null ? 'unknown' : number(by === 1 ? of : Number(of) / by));
  const { value, lower, upper } = range;
  if (value === null && lower === null) return 'unknown';
  if (isExact(range)) return one(value);
  return upper === null ? `≥ ${one(lower ?? value)}` : `${one(value)} [${one(lower)}–${one(upper)}]`;
}

/** How much more it is than before: `+27 %`. */
export function changeCell(now: Range, before: Range | undefined): string {
  if (!before || before.value === null || now.value === null) return 'unknown';
  const by = Number(change(now.value, before.value));
  // Where the earlier value is a lower bound, the growth is an upper bound.
  const [isMore, wasMore] = [now.upper === null, before.upper === null];
  const lead = isExact(now) && isExact(before) ? '' : isMore === wasMore ? 'about ' : wasMore ? 'at most ' : 'at least ';
  if (Number(before.value) === 0) return by === 0 ? '±0' : wasMore ? 'unknown' : 'new';
  const share = Math.abs(by / Number(before.value)) * 100;
  const digits = share >= 10 ? number(Math.round(share)) : String(Math.floor(share * 10) / 10);
  return `${lead}${by > 0 ? '+' : by < 0 ? '−' : '±'}${digits} %`;
}
