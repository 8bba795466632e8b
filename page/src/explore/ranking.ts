// What has most: the groups of an answer, those that it does not list, and all together.

import type { Answer, Column, Integer, Span, Value } from '../api/types';
import { KNOWN } from './measures';
import { minus, NONE, plus, range, ZERO, type Range } from './range';
import { addsUp, isWholeAsked, type Question } from './text';

export interface Group {
  node: string | null;
  /** Of each field. */
  key: Value[];
  figure: Range;
}

export interface Ranking {
  groups: Group[];
  columns: Column[];
  /** What is not listed: how many groups, and what they have. */
  others: { groups: Integer; figure: Range };
  all: Range;
  /** What of the period is remembered. */
  watched: Span | null;
  isPartial: boolean;
  reasons: string[];
  bounds: string[];
}

/** A time of no length: nothing of the period is remembered. */
export const isWatched = ({ window }: Answer): boolean => window !== null && window.start !== window.end;

export const identity = (node: string | null, key: Value[]): string => JSON.stringify([node, key]);

/** Sums of what was not seen in full are at least what was seen. */
export const isLeast = (answer: Answer, { measure }: Question) => measure.isSum && answer.status !== 'complete';

/** The figures of rows and of the rest of an answer. */
export function read(answer: Answer, of: Question): { groups: Group[]; others: Range; unlisted: Integer } {
  const { fields, measure } = of;
  const least = isLeast(answer, of);
  const node = of.isByNode ? answer.node : null;
  const groups = answer.rows.map((row) => ({
    node,
    key: fields.map((field) => row[field] ?? null),
    figure: measure.known && (row[KNOWN] ?? null) === null ? NONE : range(row[measure.id], least),
  }));
  const unlisted = (answer.rest?.groups ?? 0) as Integer;
  const told = answer.rest?.[measure.id];
  const nothing = least ? { ...ZERO, upper: null } : ZERO;
  const others = told !== undefined ? range(told, least) : Number(unlisted) === 0 ? nothing : NONE;
  return { groups, others, unlisted };
}

/** What is not measured adds nothing. */
const sum = (all: Range[]): Range => all.filter((one) => one !== NONE).reduce(plus, ZERO);

export function watchedOf(answers: Answer[]): Span | null {
  const spans = answers.filter(isWatched).map(({ window }) => window!);
  const [starts, ends] = [spans.map(({ start }) => start).sort(), spans.map(({ end }) => end).sort()];
  return spans.length ? { start: starts[0], end: ends.at(-1)! } : null;
}

const answered = (said: Answer[]) => said.filter((answer) => isWatched(answer) || answer.status !== 'complete');

/** `wholes`: what all have, asked for without groups. Nodes that add up leave out groups of which they know bounds alone. */
export function ranking(said: Answer[], of: Question, wholes: Answer[] = []): Ranking {
  const answers = answered(said);
  const parts = answers.map((answer) => read(answer, of));
  const found = parts.flatMap(({ groups }) => groups);
  if (answers.length > 1) found.sort((a, b) => Number(b.figure.value ?? -1) - Number(a.figure.value ?? -1));
  const [groups, more] = [found.slice(0, of.asked.top), found.slice(of.asked.top)];
  const unlisted = parts.reduce((count, part) => count + Number(part.unlisted), more.length);
  const isTold = addsUp(of) && answers.length !== 0 && parts.every(({ others }) => others !== NONE);
  const summed = isTold ? sum([...parts.map((part) => part.others), ...more.map(({ figure }) => figure)]) : NONE;
  const figures = groups.map(({ figure }) => figure);
  const told = isWholeAsked(of) ? answered(wholes).map((answer) => whole(answer, { ...of, fields: [] })) : [];
  const all = told.length && !told.includes(NONE) ? sum(told) : isTold ? sum([summed, ...figures]) : NONE;
  const others = told.length && all !== NONE && unlisted !== 0 ? minus(all, sum(figures)) : summed;
  return {
    groups,
    columns: said[0]?.columns ?? [],
    watched: watchedOf(said),
    others: { groups: unlisted, figure: others },
    all,
    isPartial: said.some(({ status }) => status === 'partial'),
    reasons: [...new Set(said.flatMap(({ reason }) => (reason ? [reason] : [])))],
    bounds: [...new Set(answers.map(({ bounds }) => bounds).filter((bounds) => bounds && bounds !== 'exact' && bounds !== 'none'))],
  };
}

/** All that a window has; unknown where the answer does not say what it leaves out. */
export function whole(answer: Answer, of: Question): Range {
  const { groups, others } = read(answer, of);
  return others === NONE ? NONE : sum([others, ...groups.map(({ figure }) => figure)]);
}
