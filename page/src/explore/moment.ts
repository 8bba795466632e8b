// Times and lengths as people type them.

import { zone } from '../words/time';

const UNITS: Record<string, number> = { s: 1, min: 60, h: 3600, d: 86_400, w: 604_800 };
/** In a length that is typed `m` is a minute, too. */
const TYPED: Record<string, number> = { ...UNITS, m: 60 };
const PART = /(\d+(?:\.\d+)?)\s*(min|s|m|h|d|w)/g;

/** What is said of a text that is no time. */
export const FORMS = 'a time is -1h, -2h30m, now-1d, today, yesterday, 14:20, 2026-11-26 or 2026-11-26 14:20';

/** Seconds of `30s`, `10min`, `1h`, `2h30m`; null if it is none. */
export function seconds(text: string): number | null {
  const said = text.trim();
  if (!/^(\d+(\.\d+)?\s*(min|s|m|h|d|w)\s*)+$/.test(said)) return null;
  const found = [...said.matchAll(PART)].reduce((sum, [, count, unit]) => sum + Number(count) * TYPED[unit], 0);
  return found > 0 && Number.isFinite(found) ? found : null;
}

/** `90s`, `10min`, `1h`: as Equery writes it. */
export function durationText(length: number): string {
  const [unit, size] = Object.entries(UNITS).reverse().find(([, size]) => length >= size && length % size === 0) ?? ['s', 1];
  return `${length / size}${unit}`;
}

/** The begin of the day of a time, or of a day some days from it, in the zone of the page. */
export function dayOf(at: number, days = 0): number {
  const date = new Date(at * 1000);
  if (zone.isLocal) return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime() / 1000;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days) / 1000;
}

const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/;
const DATED = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z?))?$/;

/** Counts from now, and goes on with it. */
export const isRelative = (text: string) => /^(-|now)/.test(text.trim());

function absolute(said: string, now: number): number | null {
  if (said === 'today') return dayOf(now);
  if (said === 'yesterday') return dayOf(now, -1);
  const clock = CLOCK.exec(said);
  if (clock) {
    const [hours, minutes, rest] = clock.slice(1).map((part) => Number(part ?? 0));
    return hours < 24 && minutes < 60 && rest < 60 ? dayOf(now) + hours * 3600 + minutes * 60 + rest : null;
  }
  const dated = DATED.exec(said);
  if (!dated) return null;
  // A text with a Z is UTC; others are of the zone of the page.
  const found = Date.parse(`${dated[1]}T${dated[2] ?? '00:00'}${dated[3] === 'Z' || !zone.isLocal ? 'Z' : ''}`) / 1000;
  return Number.isFinite(found) && found >= 0 ? found : null;
}

/** Seconds since the epoch; `now` where nothing is said; null if it is no time. */
export function moment(text: string, now: number): number | null {
  const said = text.trim().toLowerCase().replace(/z$/, 'Z').replace(/^(\d{4}-\d\d-\d\d)t/, '$1T');
  if (said === '' || said === 'now') return now;
  const ago = /^(?:now\s*)?-(.+)$/.exec(said);
  if (!ago) return absolute(said, now);
  const length = seconds(ago[1]);
  return length === null ? null : now - length;
}

/** As the address has it: what is absolute in UTC, what is relative as it was typed. */
export function settled(text: string, now: number): string {
  const said = text.trim();
  if (said === '' || said.toLowerCase() === 'now' || isRelative(said) || /^(today|yesterday)$/i.test(said)) return said.toLowerCase() === 'now' ? '' : said;
  const found = moment(said, now);
  return found === null ? said : new Date(found * 1000).toISOString().replace('.000Z', 'Z');
}
