// The hour as the lines of a chart.

import type { Figure, Now, NowRanking } from '../api/now';
import type { Mark } from '../explore/course';
import { colorOf } from '../explore/look';
import type { Drawn } from '../explore/plot';
import type { Range } from '../explore/range';
import { milliseconds } from '../words/time';
import { known, rate } from './figure';
import { label } from '../words/group';

export type Unit = 'bits' | 'packets';

const NS = 1e9;
const OTHERS = { color: '--others', fill: '--others-fill' };

/** Begins of steps, seconds. */
export function timesOf({ period, step_ns, steps }: Now): number[] {
  const start = period ? milliseconds(period.start) / 1000 : 0;
  return Array.from({ length: steps }, (_, at) => start + (at * Number(step_ns)) / NS);
}

const rates = (series: Figure[], watched: Figure[], by: number): (Range | null)[] => series.map((figure, at) => rate(figure, watched[at], by));

/** The groups of a ranking on each other, the largest first, then all others; an earlier hour beside them. */
export function linesOf(now: Now, ranking: NowRanking | undefined, unit: Unit): Drawn[] {
  const watched = now.series.watched_ns;
  const by = unit === 'bits' ? 8 : 1;
  const groups = unit === 'bits' && ranking && ranking.rows.length ? ranking : null;
  const own: Drawn[] = groups
    ? groups.rows.map((row, at) => ({ name: label(groups.by, row.key), color: colorOf(at), figures: rates(row.series, watched, by) }))
    : [{ name: 'all', color: '--s0', figures: rates(unit === 'bits' ? now.series.bytes : now.series.packets, watched, by) }];
  const hasOthers = groups?.rest && groups.rest.series.some((figure) => (known(figure) ?? 0) > 0);
  const others: Drawn[] = hasOthers ? [{ name: 'all others', ...OTHERS, figures: rates(groups!.rest!.series, watched, by) }] : [];
  const earlier = now.series_before;
  const before: Drawn[] = earlier
    ? [{ name: 'all, an hour before', color: '--ink', isEarlier: true, figures: rates(unit === 'bits' ? earlier.bytes : earlier.packets, earlier.watched_ns, by) }]
    : [];
  return [...own, ...others, ...before];
}

/** Steps that were watched in part. */
export function marksOf(now: Now): Mark[] {
  const times = timesOf(now);
  const length = Number(now.step_ns);
  const reason = (at: number) => now.partial.find(({ start, end }) => milliseconds(start) / 1000 < times[at] + length / NS && milliseconds(end) / 1000 > times[at])?.reason;
  const found: Mark[] = [];
  // The last step of a capture ends with its last packet, and an open one is not over.
  const last = now.kind === 'capture' || now.open ? now.steps - 1 : now.steps;
  now.series.watched_ns.forEach((watched, at) => {
    const isShort = Number(watched) < length * 0.999 && at > 0 && at < last;
    const why = reason(at) ?? (isShort ? 'watched in part' : undefined);
    if (why === undefined || now.series.bytes[at] === null) return;
    const before = found.at(-1);
    if (before && before.to === at && before.reason === why) before.to = at + 1;
    else found.push({ from: at, to: at + 1, reason: why });
  });
  return found;
}

export const gapsOf = ({ series, steps }: Now) => series.bytes.slice(0, steps).filter((figure) => figure === null).length;

/** Of a sparkline. */
export const valuesOf = (series: Figure[]): (number | null)[] => series.map(known);
