// Numbers as text.

import type { Counters, Integer } from '../api/types';

/** Digits in groups of three; a fraction has at most four digits. */
export function number(value: Integer | null | undefined): string {
  if (value === null || value === undefined) return 'unknown';
  const text = typeof value === 'string' ? value : plain(value);
  const match = /^(-?)(\d+)(.*)$/.exec(text);
  return match ? match[1] + match[2].replace(/\B(?=(\d{3})+$)/g, ',') + match[3] : text;
}

function plain(value: number): string {
  if (Number.isInteger(value)) return Math.abs(value) < 1e15 ? String(value) : value.toExponential(3);
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e12) return value.toExponential(3);
  return value.toFixed(4).replace(/\.?0+$/, '');
}

/** 0.9998 is 99.98 %: never rounded up to 100 %. */
export function percent(share: number): string {
  if (share >= 1) return '100 %';
  const digits = share > 0.99 ? 100 : 10;
  // 0.999 is a little less than that: a billionth is no percentage.
  return `${Math.floor(share * 100 * digits + 1e-7) / digits} %`;
}

/** The sum of counters, exact beyond 2^53. */
export const sum = (counters: Counters): bigint =>
  Object.values(counters).reduce((total: bigint, count) => total + whole(count), 0n);

export function whole(value: Integer | null | undefined): bigint {
  try {
    return BigInt(value ?? 0);
  } catch {
    return 0n;
  }
}

/** `1 node`, `2 nodes`. */
export const counted = (count: Integer, one: string, many = `${one}s`) =>
  `${number(count)} ${whole(count) === 1n ? one : many}`;
