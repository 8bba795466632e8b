// Figures of what the traffic does, as ranges, rates and shares.

import type { Figure } from '../api/now';
import { NONE, plus, type Range, times, ZERO } from '../explore/range';

/** A figure with its bounds; what is not known stays so. */
export function rangeOf(of: Figure | undefined): Range {
  if (of === null || of === undefined) return NONE;
  if (typeof of !== 'object') return { value: of, lower: of, upper: of };
  return 'lower' in of ? of : NONE;
}

export const known = (of: Figure | undefined): number | null => {
  const { value } = rangeOf(of);
  return value === null ? null : Number(value);
};

const NS = 1e9;

/** Per second of the time that was watched; null where none was. */
export function rate(of: Figure | undefined, watchedNs: Figure | undefined, by = 1): Range | null {
  const seconds = (known(watchedNs) ?? 0) / NS;
  return of === null || of === undefined || seconds <= 0 ? null : times(rangeOf(of), by / seconds);
}

export const sum = (all: (Figure | undefined)[]): Range => all.map(rangeOf).reduce((a, b) => (a === NONE || b === NONE ? NONE : plus(a, b)), ZERO);

/** How much of a whole a part is; null where one is not known. */
export function part(of: Figure | undefined, whole: Figure | undefined): number | null {
  const [a, b] = [known(of), known(whole)];
  return a === null || b === null || b <= 0 ? null : a / b;
}
