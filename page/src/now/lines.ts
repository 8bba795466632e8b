// The hour as the lines of a chart.

import type { Figure, Now, NowRanking } from '../api/now';
import type { Mark } from '../explore/course';
import { colorOf } from '../explore/look';
import type { Drawn } from '../explore/plot';
import type { Range } from '../explore/range';
import { duration, milliseconds } from '../words/time';
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

/** Names that are told of many. */
const FEW = 3;

/** `B, C: stopped`, of the times that overlap with a step. */
function lackingOf(now: Now): (at: number) => string[] {
  const times = timesOf(now);
  const length = Number(now.step_ns) / NS;
  const all = [...now.partial.map((one) => ({ ...one, what: 'in part' })), ...now.missing.map((one) => ({ ...one, what: 'missing' }))]
    .map((one) => ({ ...one, from: milliseconds(one.start) / 1000, to: milliseconds(one.end) / 1000 }));
  return (at) => {
    const nodes = new Map<string, Set<string>>();
    for (const { from, to, what, reason, node } of all) {
      if (from >= times[at] + length || to <= times[at]) continue;
      const why = `${what}: ${reason.replaceAll('_', ' ')}`;
      nodes.set(why, (nodes.get(why) ?? new Set()).add(node));
    }
    return [...nodes].map(([why, of]) => {
      const names = [...of];
      return `${names.slice(0, FEW).join(', ')}${names.length > FEW ? ` and ${names.length - FEW} more nodes` : ''} ${why}`;
    });
  };
}

/** Steps that were watched in part: by some of the nodes alone, or not all the time. `isShort`: nothing else is wrong with it. */
export function marksOf(now: Now): (Mark & { reasons: string[]; isShort: boolean })[] {
  const length = Number(now.step_ns);
  const lacking = lackingOf(now);
  const found: ReturnType<typeof marksOf> = [];
  const shortOf = (at: number) => {
    const end = now.kind !== 'capture' ? undefined : at === 0 ? 'first' : at === now.steps - 1 ? 'last' : undefined;
    return end ? `The ${end} window has ${duration(known(now.series.watched_ns[at]) ?? 0)} alone, and its rate is of these` : 'watched in part';
  };
  now.series.watched_ns.forEach((watched, at) => {
    const reasons = lacking(at);
    // An open step is not over, which is said. The last one of a capture ends with its last packet.
    const isShort = (known(watched) ?? 0) < length * 0.999 && !(now.open && at === now.steps - 1) && (at > 0 || now.kind === 'capture');
    if (isShort) reasons.push(shortOf(at));
    if (!reasons.length || now.series.bytes[at] === null) return;
    const why = reasons.join('; ');
    const before = found.at(-1);
    if (before && before.to === at && before.reason === why) before.to = at + 1;
    else found.push({ from: at, to: at + 1, reason: why, reasons, isShort: isShort && reasons.length === 1 });
  });
  return found;
}

export const gapsOf = ({ series, steps }: Now) => series.bytes.slice(0, steps).filter((figure) => figure === null).length;

/** Of a sparkline. */
export const valuesOf = (series: Figure[]): (number | null)[] => series.map(known);
