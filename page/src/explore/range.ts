// Figures with what is known of them: exact beyond 2^53 where they are integers.

import type { Estimate, Integer, Value } from '../api/types';

export interface Range {
  value: Integer | null;
  lower: Integer | null;
  upper: Integer | null;
}

export const NONE: Range = { value: null, lower: null, upper: null };
export const ZERO: Range = { value: 0, lower: 0, upper: 0 };

export const isExact = ({ value, lower, upper }: Range) => value !== null && lower === value && upper === value;

const isNumber = (of: unknown): of is Integer => (typeof of === 'number' && Number.isFinite(of)) || (typeof of === 'string' && /^-?\d+$/.test(of));

/** `isLeast`: something is missing, so that a sum is at least what is said. */
export function range(of: Value | undefined, isLeast: boolean): Range {
  if (typeof of === 'object' && of !== null && 'lower' in of) {
    const { value, lower, upper } = of as Estimate;
    return { value: value ?? lower, lower, upper: isLeast ? null : upper };
  }
  return isNumber(of) ? { value: of, lower: of, upper: isLeast ? null : of } : NONE;
}

function combined(a: Integer | null, b: Integer | null, sign: 1n | -1n): Integer | null {
  if (a === null || b === null) return null;
  const isWhole = (of: Integer) => typeof of === 'string' || Number.isSafeInteger(of);
  if (!isWhole(a) || !isWhole(b)) return Number(a) + Number(sign) * Number(b);
  const sum = BigInt(a) + sign * BigInt(b);
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : String(sum);
}

export const plus = (a: Range, b: Range): Range => ({
  value: combined(a.value, b.value, 1n),
  lower: combined(a.lower, b.lower, 1n),
  upper: combined(a.upper, b.upper, 1n),
});

/** What is left of a whole without its parts; never below nothing. Where something is missing of both, what was seen of the rest is the least. */
export function minus(whole: Range, part: Range): Range {
  const floor = (of: Integer | null) => (of !== null && Number(of) < 0 ? 0 : of);
  return {
    value: floor(combined(whole.value, part.value, -1n)),
    lower: floor(combined(whole.lower, part.upper ?? (whole.upper === null ? part.value : null), -1n)) ?? (whole.lower === null ? null : 0),
    upper: floor(combined(whole.upper, part.lower, -1n)),
  };
}

/** A multiple of a figure that is a rate. */
export function times({ value, lower, upper }: Range, by: number): Range {
  const one = (of: Integer | null) => (of === null || by === 1 ? of : Number(of) * by);
  return { value: one(value), lower: one(lower), upper: one(upper) };
}

export const change = (now: Integer | null, before: Integer | null): Integer | null => combined(now, before, -1n);

/** As the parts of a share: null where one is not known. */
export function share(part: Range, whole: Range): { value: number; lower: number; upper: number | null } | null {
  if (part.value === null || whole.value === null || Number(whole.value) <= 0) return null;
  const lower = whole.upper === null || Number(whole.upper) === 0 ? 0 : Number(part.lower ?? 0) / Number(whole.upper);
  const upper = part.upper === null || whole.lower === null || Number(whole.lower) === 0 ? null : Math.min(1, Number(part.upper) / Number(whole.lower));
  return { value: Math.min(1, Number(part.value) / Number(whole.value)), lower, upper };
}
