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

/** 0.9998 is 99.98 %: never rounded up to 100 %, nor down to nothing. */
export function percent(share: number): string {
  if (share >= 1) return '100 %';
  if (share > 0 && share < 0.001) return share < 0.0001 ? '<0.01 %' : `${Math.floor(share * 1e4 + 1e-7) / 100} %`;
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

const PREFIXES: [number, string][] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

/** The divisor and the letter of the SI prefix that a number is written with. */
export const prefixOf = (size: number): [number, string] => PREFIXES.find(([least]) => Math.abs(size) >= least * 0.9995) ?? [1, ''];

/** Three digits: `169`, `16.9`, `1.69`; of a number that is not scaled, its own digits. */
export function digits(scaled: number): string {
  const size = Math.abs(scaled);
  if (size === 0) return '0';
  if (size < 0.01) return scaled.toPrecision(1);
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const text = scaled.toFixed(places);
  return places ? text.replace(/\.?0+$/, '') : text;
}

/** Units that take a prefix of their own: `438 Mbit/s`. Others are words: `66.7 k packets/s`. */
const SYMBOLS = /^(B|bit)(\/s)?$/;

/** Three digits with an SI prefix: `169 GB`, `438 Mbit/s`, `66.7 k packets/s`, `1 packet`. */
export function short(value: Integer, unit: string): string {
  const size = Number(value);
  const [by, prefix] = prefixOf(size);
  const figure = by === 1 && Number.isInteger(size) ? String(size) : digits(size / by);
  if (SYMBOLS.test(unit)) return `${figure} ${prefix}${unit}`;
  const word = size === 1 ? unit.replace(/^([a-z]+?)s(?=\/|$)/, '$1') : unit;
  return [figure, prefix, word].filter(Boolean).join(' ');
}
