// Values of answers and events as text. What is not known is called unknown, never 0.

import type { Answer, Column, Estimate, Heaviest, Query, Value } from '../api/types';
import { number } from './number';
import { time } from './time';

const NUMBERS = ['unsigned', 'signed', 'float', 'estimate', 'heaviest'];
const MONOSPACE = ['address', 'prefix', 'text'];

/** Right-aligned. */
export const isNumber = (column: Column) => NUMBERS.includes(column.kind) && !isIdentity(column);
export const isMonospace = (column: Column) => MONOSPACE.includes(column.kind);

/** Numbers that name something are not grouped: a port is no quantity. */
const isIdentity = (column: Column) => /^(port|src_port|dst_port|protocol|vlan|first_vlan|dst_asn|src_asn|asn)$/.test(column.name);

const isEstimate = (value: Value): value is Estimate => typeof value === 'object' && value !== null && 'lower' in value;
const isHeaviest = (value: Value): value is Heaviest => typeof value === 'object' && value !== null && 'top' in value;

export const PROTOCOLS: Record<string, string> = {
  1: 'icmp', 2: 'igmp', 6: 'tcp', 17: 'udp', 47: 'gre', 50: 'esp', 58: 'icmp6', 89: 'ospf', 132: 'sctp',
};

/** A value without its unit. */
export function value(of: Value | undefined, column: Column): string {
  if (of === null || of === undefined) return 'unknown';
  if (isEstimate(of)) return estimate(of);
  if (isHeaviest(of)) return heaviest(of);
  if (typeof of === 'boolean') return String(of);
  if (column.name === 'protocol') return PROTOCOLS[of] ? `${PROTOCOLS[of]} (${of})` : String(of);
  if (isIdentity(column)) return String(of);
  if (column.kind === 'time' && typeof of === 'string') return time(of, '');
  if (typeof of === 'number' || NUMBERS.includes(column.kind)) return number(of);
  return of;
}

function estimate({ value: middle, lower, upper }: Estimate): string {
  if (lower === null && upper === null) return middle === null ? 'unknown' : `about ${number(middle)}`;
  if (upper === null) return `at least ${number(lower)}`;
  if (lower === null) return `at most ${number(upper)}`;
  if (lower === upper) return number(middle ?? lower);
  const between = `${number(lower)}–${number(upper)}`;
  return middle === null ? between : `${number(middle)} [${between}]`;
}

function heaviest({ top, rest }: Heaviest): string {
  const named = top.map((one) => `${String(one.value)}: ${number(one.weight)}`);
  if (Number(rest.values) !== 0) named.push(`${number(rest.values)} others: ${number(rest.weight)}`);
  return named.join(', ');
}

/** A figure for a chart; NaN is not possible. */
export function figure(of: Value | undefined): number | null {
  const of_ = isEstimate(of ?? null) ? (of as Estimate).value : of;
  if (of_ === null || of_ === undefined || of_ === '' || typeof of_ === 'object' || typeof of_ === 'boolean') return null;
  const found = Number(of_);
  return Number.isFinite(found) ? found : null;
}

export function bounds(of: Value | undefined): [number, number] | null {
  if (!of || !isEstimate(of)) return null;
  const [lower, upper] = [of.lower, of.upper].map((bound) => (bound === null ? null : Number(bound)));
  return lower === null || upper === null ? null : [lower, upper];
}

/** Sums and counts are zero where nothing fitted, and at least what was seen where something is missing. */
export function isSum(query: Query | undefined, column: string): boolean {
  if (/^(sum|count)\(/.test(column)) return true;
  const name = column.replace(/[^\w]/g, '\\$&');
  return new RegExp(`\\b(sum|count)\\s*\\([^)]*\\)\\s+as\\s+${name}\\b`, 'i').test(query?.text ?? '');
}

/** The largest figure of a column; 0 only where the whole window was seen and nothing fitted. */
export function largest(answer: Answer, column: string, query: Query | undefined): number | null {
  const figures = answer.rows.map((row) => figure(row[column])).filter((found) => found !== null);
  if (figures.length !== 0) return Math.max(...figures);
  const isNothing = answer.rows.length === 0 && answer.status === 'complete' && Number(answer.rest?.groups ?? 0) === 0;
  const hasHaving = /\bhaving\b/i.test(query?.text ?? '');
  return isNothing && isSum(query, column) && !hasHaving ? 0 : null;
}

/** Members of an event with the columns that say how to read them. */
export function members(of: Record<string, Value>, columns: Column[]): { column: Column; value: Value }[] {
  return Object.entries(of).map(([name, of_]) => {
    const column = columns.find((column) => column.name === name) ?? { name, kind: 'text', unit: '' };
    return { column, value: of_ };
  });
}

/** What a firing pinned, of an instance of a query: "dst_addr 203.0.113.10". */
export const pinned = ({ bound, bound_columns }: Answer) =>
  members(bound ?? {}, bound_columns ?? []).map(({ column, value: of }) => `${column.name} ${value(of, column)}`).join(', ');

/** Which of a query's answers of one time it is. */
export const place = (answer: Answer) => JSON.stringify([answer.node, answer.bound ?? {}]);

/** The same in words. */
export const placeName = (answer: Answer) => [answer.node ?? 'all nodes', pinned(answer)].filter(Boolean).join(', ');

export const withUnit = (text: string, unit: string) => (unit && text !== 'unknown' ? `${text} ${unit}` : text);
