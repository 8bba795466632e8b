// Figures as cells of a table, all of one unit.

import { number } from '../words/number';
import { amount } from './measures';
import { change, isExact, type Range, times } from './range';
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

/** Three digits; the whole figure is in the title of the cell. */
export function shortCell({ value, lower, upper }: Range, unit: string): string {
  if (value === null && lower === null) return 'not known';
  if (isExact({ value, lower, upper })) return amount(value!, unit);
  if (upper === null) return `≥ ${amount((lower ?? value)!, unit)}`;
  const [least, most] = [amount((lower ?? 0)!, unit), amount(upper, unit)];
  return least === most ? `≈ ${least}` : `${least} to ${most}`;
}

/** Less of a change, in percent, is no news. */
const SAME = 3;

/** How much more it is than before: `+27 %`, `same`, `new`. */
/** `per`: how much longer it is watched now than before, where sums per second are compared. */
export function changeCell(now: Range, earlier: Range | undefined, per = 1): string {
  const before = earlier && times(earlier, per);
  if (!before || before.value === null || now.value === null) return 'not known';
  const by = Number(change(now.value, before.value));
  // Where the earlier value is a lower bound, the growth is an upper bound.
  const [isMore, wasMore] = [now.upper === null, before.upper === null];
  const lead = isExact(now) && isExact(before) ? '' : isMore === wasMore ? 'about ' : wasMore ? 'at most ' : 'at least ';
  if (Number(before.value) === 0) return by === 0 ? 'same' : wasMore ? 'not known' : 'new';
  const share = Math.abs(by / Number(before.value)) * 100;
  if (share < SAME && (lead === '' || lead === 'about ')) return lead ? 'about the same' : 'same';
  const digits = share >= 10 ? number(Math.round(share)) : String(Math.floor(share * 10) / 10);
  return `${lead}${by > 0 ? '+' : '−'}${digits} %`;
}
