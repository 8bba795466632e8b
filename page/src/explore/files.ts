// What is shown, as tables of a file.

import type { Cell } from '../words/csv';
import type { Course } from './course';
import { timeText } from './period';
import { NONE, type Range, times } from './range';
import { identity, type Ranking } from './ranking';
import { overTime } from './sentence';
import type { Question } from './text';

const figure = ({ value, lower, upper }: Range): Cell[] => [value, lower, upper];

/** The ranking: also what it does not list, and all. */
export function rankingRows(of: Question, ranking: Ranking, before: Map<string, Range> | null): Cell[][] {
  const { measure, fields, isByNode, period } = of;
  const unit = `${measure.id} (${measure.unit})`;
  const head = ['what', ...(isByNode ? ['node'] : []), ...fields, unit, 'lower', 'upper', ...(before ? ['before'] : []), 'from', 'to', 'status'];
  const span = [timeText(period.start), timeText(period.end), ranking.isPartial ? 'partial' : 'complete'];
  const none = [...(isByNode ? [null] : []), ...fields.map(() => null)];
  const row = (what: string, names: Cell[], range: Range, earlier: Range | undefined): Cell[] =>
    [what, ...names, ...figure(range), ...(before ? [earlier?.value ?? null] : []), ...span];
  const groups = ranking.groups.map((group) =>
    row('group', [...(isByNode ? [group.node] : []), ...group.key.map((value) => (typeof value === 'object' ? null : String(value)))], group.figure, before?.get(identity(group.node, group.key))));
  const rest = ranking.others.figure.value === null ? [] : [row(`${ranking.others.groups} others`, none, ranking.others.figure, before?.get('others'))];
  const all = ranking.all.value === null ? [] : [row('all', none, ranking.all, before?.get('all'))];
  return [head, ...groups, ...rest, ...all];
}

/** The course: a line for each window; a window without an answer has empty cells. */
export function courseRows(of: Question, course: Course, names: string[]): Cell[][] {
  const { unit, by } = overTime(of.measure);
  const lines = [...course.lines, ...(course.others ? [course.others] : [])];
  const titles = [...names, ...(course.others ? ['others'] : [])];
  const hasBounds = lines.map((line) => line.figures.some((one) => one && (one.lower !== one.value || one.upper !== one.value)));
  const head = ['window_start', 'window_end', 'status', ...titles.flatMap((name, at) => [`${name} (${unit})`, ...(hasBounds[at] ? ['lower', 'upper'] : [])])];
  const status = (at: number) => course.marks.find(({ from, to }) => at >= from && at < to)?.reason ?? (lines.some(({ figures }) => figures[at]) ? 'complete' : 'no answer');
  return [head, ...course.times.map((time, at) => [
    timeText(time), timeText(time + course.every), status(at),
    ...lines.flatMap(({ figures }, which) => {
      const { value, lower, upper } = figures[at] ? times(figures[at], by) : NONE;
      return [value, ...(hasBounds[which] ? [lower, upper] : [])];
    }),
  ])];
}
