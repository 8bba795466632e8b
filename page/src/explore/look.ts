// How groups look, and where their flows are shown.

import { rooted } from '../api/root';
import type { Value } from '../api/types';
import { counted } from '../words/number';
import type { Course, Line } from './course';
import { FLOW_FIELDS } from './measures';
import { timeText } from './period';
import type { Drawn } from './plot';
import type { Ranking } from './ranking';
import { times } from './range';
import { valueText } from './sentence';
import type { Question } from './text';

const COLORS = 10;
export const colorOf = (at: number) => `--s${at % COLORS}`;

/** The name of a group: its values, the node first. */
export const groupName = (of: Question, ranking: Ranking, at: number): string => {
  const { node, key } = ranking.groups[at];
  const values = of.fields.map((field, which) => valueText(key[which], field, ranking));
  return [...(of.isByNode && node !== null ? [node] : []), ...values].join(' ') || of.measure.name;
};

export const othersName = ({ others, bounds }: Ranking) => (Number(others.groups) > 0 && !bounds.length ? counted(others.groups, 'other') : 'others');

/** The lines of a chart: earlier ones of the whole where areas are drawn. */
export function drawn(of: Question, ranking: Ranking, now: Course, before: Course | null, isStacked: boolean): Drawn[] {
  const names = ranking.groups.map((_, at) => groupName(of, ranking, at));
  const lines = now.lines.map((line, at): Drawn => ({ name: names[at], color: colorOf(at), figures: line.figures }));
  const others: Drawn[] = now.others && isStacked && Number(ranking.others.groups) !== 0 ? [{ name: othersName(ranking), color: '--others', fill: '--others-fill', figures: now.others.figures }] : [];
  if (!before) return [...lines, ...others];
  const whole = before.all ?? (before.lines.length === 1 ? before.lines[0] : null);
  const earlier = isStacked && whole
    ? [{ name: 'all before', color: '--ink', figures: whole.figures, isEarlier: true }]
    : before.lines.map((line, at): Drawn => ({ name: `${names[at]} before`, color: colorOf(at), figures: line.figures, isEarlier: true }));
  return [...lines, ...others, ...earlier];
}

/** In the unit of a chart. */
export function inUnit(of: Course, by: number): Course {
  if (by === 1) return of;
  const one = <T extends { figures: Line['figures'] } | null>(line: T): T => line && { ...line, figures: line.figures.map((figure) => figure && times(figure, by)) };
  return { ...of, lines: of.lines.map(one), others: one(of.others), all: one(of.all) };
}

const SHORT: Record<string, string> = { src_addr: 'src', dst_addr: 'dst', src_port: 'sport', dst_port: 'dport', protocol: 'proto' };

/** One flow, at the same time. */
export function flowHref({ fields, period }: Question, key: Value[]): string {
  const parameters = new URLSearchParams(FLOW_FIELDS.map((field) => [SHORT[field], String(key[fields.indexOf(field)] ?? '')]));
  parameters.set('from', timeText(period.start));
  parameters.set('to', timeText(period.end));
  return rooted(`/flow?${parameters}`);
}
