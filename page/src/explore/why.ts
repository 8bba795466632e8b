// Why traffic changed: which periods are compared, what is asked, and the answer in words.

import type { Change, ChangedGroup, ChangeOfField, Integer } from '../api/types';
import { label } from '../words/group';
import { percent, short } from '../words/number';
import { time } from '../words/time';
import { moment } from './moment';
import { spaced, timeText, type Period } from './period';
import type { Asked } from './state';

/** What can be explained, by the measure that is shown. */
export const EXPLAINED: Record<string, { measure: string; unit: string }> = {
  bytes: { measure: 'bits', unit: 'B' },
  packets: { measure: 'packets', unit: 'packets' },
  flows: { measure: 'flows', unit: 'flows' },
};

/** All of the period is explained. */
export const WHOLE = 'all';

export interface Times {
  before: { start: number; end: number };
  after: { start: number; end: number };
}

/** The part of the period that is explained: all of it, or `FROM..TO`. */
export function partOf(why: string, period: Period): { start: number; end: number } | null {
  if (why === WHOLE) return { start: period.start, end: period.end };
  const [from, to] = why.split('..');
  const [start, end] = [from, to].map((at) => (at ? moment(at, period.end) : null));
  return start !== null && end !== null && start < end ? { start, end } : null;
}

/** `earlier`: seconds from the earlier period to this one; null without. */
export function timesOf(part: { start: number; end: number }, against: string, earlier: number | null): Times {
  const by = against === 'just' || earlier === null ? part.end - part.start : earlier;
  return { after: part, before: { start: part.start - by, end: part.end - by } };
}

/** The address of the call, and the condition that is its body. */
export function askedOf(asked: Asked, { before, after }: Times): { parameters: Record<string, string>; text: string } {
  const parameters: Record<string, string> = {
    measure: EXPLAINED[asked.show].measure,
    before_from: timeText(before.start), before_to: timeText(before.end), from: timeText(after.start), to: timeText(after.end),
    across: asked.across,
    nodes: asked.nodes.join(','),
  };
  return { parameters, text: [asked.where, ...asked.only].filter(Boolean).join(', ') };
}

const NAMES: Record<string, string> = {
  conversation: 'conversation', source: 'source', destination: 'destination', source_network: 'network of the source', destination_network: 'network of the destination',
  port: 'port', protocol: 'protocol', node: 'node', source_port: 'source port', source_as: 'system of the source', destination_as: 'system of the destination',
  source_country: 'country of the source', destination_country: 'country of the destination',
};
export const fieldName = (field: string) => NAMES[field] ?? field;

const text = (of: unknown) => (of === null || of === undefined ? 'none' : String(of));

/** A group in one line. */
export function groupName({ field, by }: ChangeOfField, { key }: ChangedGroup): string {
  const values = by.map((name) => key[name]);
  if (field === 'conversation') return values.map(text).join(' → ');
  if (field === 'port' || field === 'source_port') return label('port', { protocol: values[0] as never, port: values[1] as never });
  if (field === 'protocol') return label('protocol', { protocol: values[0] as never });
  return values.map(text).join(' ');
}

/** Bits are told as bytes where sums are compared, as tables have them, and as bits per second where rates are. */
export function unitOf({ measure, compared }: Change): { unit: string; by: number } {
  if (compared === 'rates') return { unit: measure === 'bits' ? 'bit/s' : `${measure}/s`, by: 1 };
  return measure === 'bits' ? { unit: 'B', by: 8 } : { unit: measure, by: 1 };
}

const scaled = (of: Integer | number, by: number): Integer => (by === 1 ? of : Number(of) / by);

/** `+26.9 GB`, `same`. */
export function differenceText(difference: Integer | number, change: Change): string {
  const { unit, by } = unitOf(change);
  const size = Number(difference);
  if (size === 0) return 'same';
  return `${size > 0 ? '+' : '−'}${short(scaled(Math.abs(size), by), unit)}`;
}

/** A sum of a period, per second where rates are compared: `≥` where a part of the period is missing. */
export function figureText(sum: Integer | null | undefined, side: 'before' | 'after', change: Change, isOpen = false): string {
  if (sum === null || sum === undefined) return 'not known';
  const { unit, by } = unitOf(change);
  const period = change[side];
  const seconds = change.compared === 'rates' ? Math.max(1e-9, (Date.parse(period.end) - Date.parse(period.start)) / 1000) : 1;
  const least = period.status === 'partial' || isOpen ? '≥ ' : '';
  return least + short(scaled(Number(sum) / seconds, by), unit);
}

/** `94 %`, or what is beyond a share. */
export function shareText(share: number | null | undefined): string {
  if (share === null || share === undefined) return '';
  if (share < 0) return 'the other way';
  return share > 1 ? 'more than all' : percent(share);
}

/** How exact the differences are, in words; empty where they are. */
export function openness(change: Change): string {
  const isFall = Number(change.difference ?? 0) < 0;
  return {
    exact: '',
    at_least: `A part of the later time is missing: it is ${isFall ? 'at most this much less' : 'at least this much more'}.`,
    at_most: `A part of the earlier time is missing: it is ${isFall ? 'at least this much less' : 'at most this much more'}.`,
    of_what_was_seen: 'A part of both times is missing: this is what was seen.',
    not_known: 'One of the two times is not remembered: what changed is not known.',
  }[change.difference_is];
}

/** `It rose by at least 28.7 GB in all.` Of a difference below nothing the bound is on the other side. */
function bounded(size: number, change: Change): string {
  const bound = { at_least: size > 0 ? 'at least' : 'at most', at_most: size > 0 ? 'at most' : 'at least' }[change.difference_is as string];
  const text = differenceText(size, change);
  return bound ? `It ${size > 0 ? 'rose' : 'fell'} by ${bound} ${text.slice(1)} in all.` : `${text} in all.`;
}

/** `+28.7 GB in all. A → B alone is 94 % of it.` */
export function sentence(change: Change): string {
  if (change.difference === null || change.difference === undefined) return 'What changed is not known.';
  const size = Number(change.difference);
  if (size === 0) return 'Nothing changed in all.';
  const all = bounded(size, change);
  const [field] = change.fields;
  const first = field?.groups[0];
  const share = first?.share ?? 0;
  if (!first || share < 0.5) return all;
  const name = groupName(field, first);
  return share > 1 ? `${all} ${name} alone is more than that: ${differenceText(first.difference, change)}.` : `${all} ${name} alone is ${shareText(share)} of it.`;
}

/** From when to when both are. */
export function timesText(change: Change, now: string): string {
  const one = ({ start, end }: { start: string; end: string }) => `${time(start, now)} to ${time(end, now)}`;
  const length = (Date.parse(change.after.end) - Date.parse(change.after.start)) / 1000;
  const rates = change.compared === 'rates' ? ' They are not of the same length: sums per second are compared.' : '';
  return `${one(change.after)} (${spaced(Math.round(length))}) against ${one(change.before)}.${rates}`;
}

/** The field whose leading group moved most of all, then the others. */
export const standing = (change: Change): ChangeOfField[] =>
  change.fields.filter(({ groups }) => groups.length).sort((a, b) => Math.abs(Number(b.groups[0].difference)) - Math.abs(Number(a.groups[0].difference)));
