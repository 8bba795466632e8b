// What there is to know of an answer beside its figures.

import type { Span } from '../api/types';
import { counted } from '../words/number';
import { milliseconds, time } from '../words/time';
import type { Course } from './course';
import { spaced } from './period';
import type { Drawn } from './plot';
import type { Ranking } from './ranking';
import { addsUp, type Question } from './text';

export interface Noted {
  of: Question;
  ranking: Ranking;
  course: Course | null;
  courseBefore: Course | null;
  watchedBefore: Span | null;
  warnings: string[];
}

/** Nodes that are missing are named beside, with what there is to say of them. */
export const shortened = (reasons: string[]) => [...new Set(reasons.map((reason) => reason.replace(/ \([a-z_]+[:)].*$/s, '')))];

const seconds = (at: string) => milliseconds(at) / 1000;
const isBand = (figure: Drawn['figures'][number]) =>
  figure !== null && figure.upper !== null && Number(figure.upper) - Number(figure.lower) > 1e-9 * Number(figure.upper);

export function notes(found: Noted, lines: Drawn[], view: string, now: string): string[] {
  const { of, ranking, course, warnings } = found;
  const { period, measure, asked } = of;
  const marked = course?.marks.reduce((count, { from, to }) => count + to - from, 0) ?? 0;
  const reasons = shortened([...(course?.marks ?? []).map(({ reason }) => reason), ...ranking.reasons]);
  const hatched = view === 'table' ? 'In part' : 'Hatched';
  const least = measure.isSum ? ', where sums are at least what is shown' : '';
  const all = [
    period.isCoarser && `Windows of ${asked.every} would be more than a chart takes: these are of ${spaced(period.every)}.`,
    marked !== 0 && `${hatched}: ${counted(marked, 'window')} seen in part${least}: ${reasons.join('; ')}.`,
    view !== 'table' && lines.some(({ figures }) => figures.some(isBand)) && 'Bands: the bounds of what is estimated.',
    course && course.gaps !== 0 && `Gaps: ${counted(course.gaps, 'window')} without an answer.`,
    course && course.newest !== 0 && `The newest ${course.newest === 1 ? 'window is' : `${course.newest} windows are`} not in the stores yet.`,
    ranking.watched && seconds(ranking.watched.start) > period.start + period.every && `What is remembered begins at ${time(ranking.watched.start, now)}.`,
    found.courseBefore && ofEarlier(found, now),
    view === 'area' && !addsUp(of) && `${of.isOverlapping ? 'A flow is in two of these groups' : `Figures of groups do not add up`}: lines, not areas.`,
  ];
  return [...all.filter((note) => typeof note === 'string'), ...(marked ? [] : reasons), ...new Set(warnings)];
}

function ofEarlier({ of, watchedBefore }: Noted, now: string): string {
  const earlier = `${spaced(of.earlier!)} earlier`;
  if (!watchedBefore) return `Nothing is remembered of the time ${earlier}.`;
  const isShort = seconds(watchedBefore.start) > of.period.start - of.earlier! + 2 * of.period.every;
  return `Dashed: ${earlier}${isShort ? `, of which what is remembered begins at ${time(watchedBefore.start, now)}` : ''}.`;
}
