// The Equery text of what is asked. The ranking comes first: what it ranks is what is asked over time.

import type { Value } from '../api/types';
import { quoted, oneOf } from './literal';
import { dimension, KNOWN, MEASURES, NODE, type Measure } from './measures';
import { durationText, timeText, type Period } from './period';
import type { Asked } from './state';

export interface Question {
  asked: Asked;
  /** As it was asked, or what is remembered. */
  from: string;
  to: string;
  measure: Measure;
  /** Fields of groups, without the node. */
  fields: string[];
  /** Answers are of each node. */
  isByNode: boolean;
  /** A flow may be in several groups. */
  isOverlapping: boolean;
  period: Period;
  /** Seconds from the earlier period to this one. */
  earlier: number | null;
}

export function question(asked: Asked, period: Period, earlier: number | null, { from, to }: { from: string; to: string } = asked): Question {
  const measure = MEASURES.find(({ id }) => id === asked.show)!;
  const fields = asked.by.filter((field) => field !== NODE);
  const isByNode = asked.by.includes(NODE) || !measure.isMerged;
  const isOverlapping = fields.some((field) => dimension(field).isOverlapping);
  return { asked, from, to, measure, fields, isByNode, isOverlapping, period, earlier };
}

/** Groups add up to the whole. */
export const addsUp = ({ measure, isOverlapping }: Question) => measure.isSum && !isOverlapping;

interface Shape {
  pins?: string | null;
  limit: number;
  isOverTime?: boolean;
  isRanking?: boolean;
  /** Seconds earlier. */
  by?: number;
}

function query(name: string, of: Question, { pins, limit, isOverTime, isRanking, by = 0 }: Shape): string {
  const { asked, measure, fields, isByNode, period } = of;
  const nodes = asked.nodes.map(quoted).filter((node) => node !== null);
  const [start, end] = [period.start - by, period.end - by].map(timeText);
  const conditions = [
    ...(asked.where ? [asked.where] : []),
    ...asked.only,
    ...(nodes.length ? [`node_id in (${nodes.join(', ')})`] : []),
    ...(pins ? [pins] : []),
  ];
  const merged = isByNode ? '' : ` across nodes by ${asked.across}`;
  const groups = fields.length ? ` groupby ${fields.join(', ')}` : '';
  // Of a loss only those that have any are ranked.
  const having = pins && of.isOverlapping ? ` having ${pins}` : isRanking && fields.length && measure.known ? ` having ${measure.text} > 0` : '';
  const most = fields.length ? ` limit ${limit}` : '';
  const tail = `${groups}${having}${most}${isOverTime ? ` every ${durationText(period.every)}` : ''}${merged}`;
  return [
    `${name}: select ${[...fields, `${measure.text} as ${measure.id}`, ...(measure.known ? [`${measure.known} as ${KNOWN}`] : [])].join(', ')}`,
    `    from '${start}' to '${end}'`,
    // Each on a line of its own: a comment in one does not swallow the next.
    ...(conditions.length ? [`    where ${conditions.join('\n        , ')}`] : []),
    ...(tail ? [`   ${tail}`] : []),
  ].join('\n') + ';\n';
}

export const NAMES = { top: 'top', known: 'known', whole: 'all', course: 'over_time', all: 'all_over_time', topBefore: 'top_before', courseBefore: 'over_time_before', allBefore: 'all_before_over_time', wholeBefore: 'all_before' };

/** What all groups have is what there is: not so of the largest figure of each. */
export const isWholeAsked = (of: Question) => of.fields.length !== 0 && addsUp(of) && (of.isByNode || of.asked.across === 'sum');

/** What has most, what all have, and whether it is measured at all. */
export function rankingText(of: Question): string {
  const texts = [query(NAMES.top, of, { limit: of.asked.top, isRanking: true })];
  if (isWholeAsked(of)) texts.push(query(NAMES.whole, { ...of, fields: [] }, { limit: 1 }));
  if (of.measure.known) texts.push(query(NAMES.known, { ...of, fields: [] }, { limit: 1 }));
  return texts.join('\n');
}

/** Those groups over time and what all have, now and earlier; null where there is no group. */
export function courseText(of: Question, groups: Value[][]): string | null {
  const pins = oneOf(of.fields, groups);
  if (of.fields.length && pins === null) return null;
  const limit = of.asked.top;
  const hasAll = of.fields.length !== 0 && addsUp(of);
  const texts = [query(NAMES.course, of, { pins, limit, isOverTime: true })];
  if (hasAll) texts.push(query(NAMES.all, of, { limit: 1, isOverTime: true }));
  if (of.earlier !== null) {
    const by = of.earlier;
    texts.push(query(NAMES.topBefore, of, { pins, limit, by }), query(NAMES.courseBefore, of, { pins, limit, isOverTime: true, by }));
    if (hasAll) texts.push(query(NAMES.allBefore, of, { limit: 1, isOverTime: true, by }), query(NAMES.wholeBefore, of, { limit: 1, by }));
  }
  return texts.join('\n');
}

/** Where the filter stands in the text of the ranking. */
export const FILTER_LINE = 3;
export const FILTER_COLUMN = '    where '.length + 1;
