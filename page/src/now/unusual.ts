// What is unusual, in words.

import type { Entry, Measured, Unusual } from '../api/now';
import type { Span } from '../api/types';
import { conditionOf } from './names';
import { clean, flowHref, exploreHref } from './links';
import { shortCell } from '../explore/cells';
import { milliseconds, time } from '../words/time';
import { rangeOf } from './figure';

/** Of each rule: how an entry begins, its name on a chart, and in a list of what is not unusual. */
export const RULES: Record<string, { title: string; short: string; plural: string }> = {
  scan: { title: 'A scan', short: 'scan', plural: 'scans' },
  many_to_one: { title: 'Many to one', short: 'many to one', plural: 'many to one' },
  loss: { title: 'A loss', short: 'loss', plural: 'losses' },
  heavy: { title: 'A new heavy talker', short: 'heavy talker', plural: 'heavy talkers' },
  silence: { title: 'Silence', short: 'silence', plural: 'silence' },
};

export const ruleTitle = (rule: string) => RULES[rule]?.title ?? rule.replaceAll('_', ' ');
const plural = (rule: string) => RULES[rule]?.plural ?? rule.replaceAll('_', ' ');

const clock = (at: string) => time(at).replace(/^(.*\d\d:\d\d):00$/, '$1');

/** `14:21 to 14:22, over now`, `since 14:26`. */
export const whenOf = ({ since, until }: Entry) => (until === null ? `since ${clock(since)}, still so` : `${clock(since)} to ${clock(until)}, over now`);

export const measured = ({ name, unit, value }: Measured) => {
  const what = name.replaceAll('_', ' ');
  if (unit === 'bytes') return name === 'bytes' ? shortCell(rangeOf(value), unit) : `${shortCell(rangeOf(value), unit)} ${what}`;
  return `${shortCell(rangeOf(value), '')} ${what}`;
};

/** An hour round it. */
const AROUND_MS = 30 * 60_000;

export function linksOf(entry: Entry, period: Span | null, hasHistory: boolean, isCapture: boolean): { href: string; name: string }[] {
  if (!hasHistory) return [];
  const [start, end] = [milliseconds(entry.since) - AROUND_MS, milliseconds(entry.until ?? entry.window.end) + AROUND_MS];
  const around = isCapture && period ? period : { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
  const whole = { start: clean(around.start), end: clean(around.end) };
  const only = entry.by === 'node' ? null : conditionOf(entry.by, entry.key);
  const node = entry.by === 'node' ? String(entry.key.node_id ?? '') : (entry.node ?? '');
  const by = entry.by === 'source' ? 'destination' : 'source';
  return [
    ...(entry.by === 'flow' ? [{ href: flowHref(entry.key, whole), name: 'Where, in Flow' }] : []),
    ...(only !== null || entry.by === 'node' ? [{ href: exploreHref(by, only, whole, false, node), name: 'Explore' }] : []),
  ];
}

/** `3 of 5 watched`, and what that is. */
export function summary({ rules, entries }: Unusual): { watched: string; quiet: string; learning: string[]; unwatched: string[] } {
  const own = new Set(entries.map(({ rule }) => rule));
  const watched = rules.filter(({ state }) => state === 'watched');
  return {
    watched: `${watched.length} of ${rules.length} watched`,
    quiet: watched.filter(({ rule }) => !own.has(rule)).map(({ rule }) => plural(rule)).join(', '),
    learning: rules.filter(({ state }) => state === 'learning').map(({ rule, reason }) => `${plural(rule)}${reason ? ` (${reason})` : ''}`),
    unwatched: rules.filter(({ state }) => state === 'not_watched').map(({ rule, reason }) => `${plural(rule)}${reason ? ` (${reason})` : ''}`),
  };
}
