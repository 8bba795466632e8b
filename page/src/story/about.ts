// What a story is about: its time, its key as conditions, and the figures that were compared.

import type { Answer, Event, Query, Row, WholeStory } from '../api/types';
import { timeText } from '../explore/period';
import { condition } from '../explore/literal';
import { isAddress } from '../host/address';
import { milliseconds } from '../words/time';

/** Seconds that are shown before a story and after its last event. */
const AROUND = 60;

export interface Times {
  from: string;
  to: string;
}

/** From before the first window to after the last event, at most until now. */
export function timesOf({ events }: WholeStory, now: string): Times | null {
  if (!events.length) return null;
  const begins = events.map(({ window, at }) => milliseconds(window?.start ?? at) / 1000);
  const ends = events.map(({ at }) => milliseconds(at) / 1000);
  const last = Math.max(...ends);
  const end = Math.max(last + 1, Math.min(last + AROUND, Math.ceil(milliseconds(now) / 1000)));
  return { from: timeText(Math.floor(Math.min(...begins)) - AROUND), to: timeText(Math.ceil(end)) };
}

const FIELDS = ['src_addr', 'dst_addr', 'addr', 'src_port', 'dst_port', 'port', 'protocol'];

/** The key that says most of flows: of the last firing that has one. */
export function keyOf(events: Event[]): Row | null {
  const fired = events.filter(({ kind }) => kind === 'fired').map(({ key }) => key);
  return fired.reverse().find((key) => Object.keys(key).some((name) => FIELDS.includes(name))) ?? null;
}

/** The flows of a key, in Equery; null where it has none that can be written. */
export function conditionsOf(key: Row | null): string[] | null {
  if (!key) return null;
  const own = Object.entries(key).filter(([name]) => FIELDS.includes(name));
  const all = own.map(([name, value]) => condition(typeof value === 'string' && value.includes('/') ? `${name}/` : name, value));
  return all.length && !all.includes(null) ? all.filter((one) => one !== null) : null;
}

export const addressesOf = (events: Event[]): string[] =>
  [...new Set(events.flatMap(({ key }) => Object.values(key)).filter((value): value is string => typeof value === 'string' && isAddress(value)))];

/** A figure that was compared, with what it was compared with. */
export interface Course {
  /** The query whose answers have it. */
  query: string;
  node: string | null;
  key: Row;
  column: string;
  thresholds: { comparison: string; value: number }[];
}

const MOST_COURSES = 4;

/** Of each firing the figures of its condition, each once. */
export function coursesOf(events: Event[], queries: Query[]): Course[] {
  const found = new Map<string, Course>();
  for (const { kind, query, fired_by, node, key, values, threshold } of events) {
    if (kind !== 'fired') continue;
    const trigger = queries.find(({ name }) => name === query)?.trigger;
    for (const column of Object.keys(values)) {
      const known = trigger?.thresholds.filter((one) => one.column === column) ?? [];
      const thresholds = known.length ? known.map(({ comparison, value }) => ({ comparison, value })) : threshold === null ? [] : [{ comparison: '', value: threshold }];
      const id = JSON.stringify([fired_by ?? query, node, key, column]);
      const own = found.get(id);
      if (own) own.thresholds.push(...thresholds.filter((one) => !own.thresholds.some((other) => other.value === one.value && other.comparison === one.comparison)));
      else found.set(id, { query: fired_by ?? query, node, key, column, thresholds });
    }
  }
  // What passed a threshold says more than what had to stay below another one.
  const passed = [...found.values()].filter(({ thresholds }) => thresholds.some(({ comparison }) => comparison.startsWith('>')));
  return (passed.length ? passed : [...found.values()]).slice(0, MOST_COURSES);
}

/** The answers of a course with the rows of its key alone. */
export function ofKey(answers: Answer[], { query, node, key }: Course): Answer[] {
  const fits = (row: Row) => Object.entries(key).every(([name, value]) => row[name] === undefined || row[name] === value);
  const own = answers.filter((answer) => answer.query === query && answer.window !== null && (node === null || answer.node === node || answer.node === null));
  return own.map((answer) => ({ ...answer, rows: answer.rows.filter(fits) }));
}

/** What a firing had measured: the first answer with rows of the last query that ran therefore. */
export function hit(events: Event[], answers: Answer[]): Answer | null {
  for (const { kind, query, at } of [...events].reverse()) {
    if (kind !== 'fired') continue;
    const own = answers.filter((answer) => answer.query === query && answer.window !== null && answer.window.end >= at && answer.rows.length);
    if (own.length) return own[0];
  }
  return null;
}
