// What each node saw of a flow, in both directions.

import type { Answer, Row, Value } from '../api/types';
import { length, type Mark, marks, scaled, slots } from '../explore/course';
import type { Drawn } from '../explore/plot';
import type { Period } from '../explore/period';
import { NONE, range, type Range, ZERO } from '../explore/range';
import { isWatched } from '../explore/ranking';
import type { Direction } from './text';

export interface Side {
  node: string;
  packets: Range;
  bytes: Range;
  /** Unknown where the node does not measure them. */
  lost: Range;
  again: Range;
  unseen: Range;
  rtt: Range;
  isMeasured: boolean;
  isPartial: boolean;
  /** The node has answered. */
  isKnown: boolean;
}

const LOSSES = ['lost', 'again', 'unseen'] as const;
const isMeasured = (row: Row | undefined) => row?.measured !== undefined && row.measured !== null;

export function side(node: string, way: Direction, answers: Answer[]): Side {
  const answer = answers.find((one) => one.query === way && one.node === node);
  const row = answer?.rows[0];
  const isPartial = answer !== undefined && answer.status === 'partial';
  const isKnown = answer !== undefined && isWatched(answer) && (row !== undefined || !isPartial);
  const sum = (of: Value | undefined) => (row && isKnown ? range(of, isPartial) : isKnown ? ZERO : NONE);
  const measured = isMeasured(row);
  const losses = Object.fromEntries(LOSSES.map((name) => [name, measured ? range(row![name], isPartial) : NONE])) as Record<(typeof LOSSES)[number], Range>;
  return { node, packets: sum(row?.packets), bytes: sum(row?.bytes), ...losses, rtt: range(row?.rtt, false), isMeasured: measured, isPartial, isKnown };
}

export interface Path {
  sides: Side[];
  /** What tells the order. */
  by: 'round trips' | 'losses' | null;
}

const known = (of: Range) => Number(of.value ?? 0);
/** What is lost on the way is missing at all nodes behind, and seen again at all before; but for what the reordering window hides. */
const NOISE = 0.1;

function fits(sides: Side[]): boolean {
  const [lost, again] = [Math.max(...sides.map(({ lost }) => known(lost))), Math.max(...sides.map(({ again }) => known(again)))];
  return sides.slice(1).every((side, at) => known(side.lost) >= known(sides[at].lost) - lost * NOISE && known(side.again) <= known(sides[at].again) + again * NOISE);
}

/**
 * The nodes from the sender to the receiver: the longer the round trip to the receiver, the nearer the sender. Where that is not known, or the
 * losses contradict it, they tell, if they do; else the nodes are in the order of their names.
 */
export function path(sides: Side[]): Path {
  const seen = sides.filter(({ packets }) => known(packets) > 0);
  const others = sides.filter((side) => !seen.includes(side));
  if (seen.length < 2 || !seen.every(({ isMeasured }) => isMeasured)) return { sides, by: null };
  const hasTrips = seen.every(({ rtt }) => rtt.value !== null) && new Set(seen.map(({ rtt }) => known(rtt))).size === seen.length;
  const byTrips = [...seen].sort((a, b) => known(b.rtt) - known(a.rtt));
  if (hasTrips && fits(byTrips)) return { sides: [...byTrips, ...others], by: 'round trips' };
  const byLosses = [...seen].sort((a, b) => known(a.lost) - known(b.lost) || known(b.again) - known(a.again));
  const isTold = byLosses.slice(1).every((side, at) => known(side.lost) > known(byLosses[at].lost) || known(side.again) < known(byLosses[at].again));
  return isTold && fits(byLosses) ? { sides: [...byLosses, ...others], by: 'losses' } : { sides, by: null };
}

/** Both ways: where one tells nothing, it is the other one's, turned. */
export function paths(there: Side[], back: Side[]): { there: Path; back: Path } {
  const [one, other] = [path(there), path(back)];
  const turned = (sides: Side[], { sides: order, by }: Path): Path => ({ sides: [...order].reverse().map(({ node }) => sides.find((side) => side.node === node)!), by });
  if (one.by && !other.by) return { there: one, back: turned(back, one) };
  if (other.by && !one.by) return { there: turned(there, other), back: other };
  return { there: one, back: other };
}

/** Windows that a node did not see in full, and why. */
export function marksOf(way: Direction, answers: Answer[], period: Period): Mark[] {
  const own = answers.filter((one) => one.query === `${way}_over_time`);
  return marks(slots(own, timesOf(period), period.every, 0));
}

export const timesOf = ({ start, end, every }: Period): number[] => Array.from({ length: Math.round((end - start) / every) }, (_, at) => start + at * every);

/** Lines that lie on each other are all seen. */
const WIDEST = 3;

/** A column over time, a line for each node. */
export function linesOf(way: Direction, column: 'bytes' | 'lost' | 'again' | 'rtt', nodes: string[], answers: Answer[], period: Period): Drawn[] {
  const times = timesOf(period);
  return nodes.flatMap((node, at) => {
    const figures = times.map((): Range | null => null);
    const own = answers.filter((one) => one.query === `${way}_over_time` && one.node === node);
    for (const { answer, at: when } of slots(own, times, period.every, 0)) {
      const row = answer.empty === undefined ? answer.rows[0] : undefined;
      const seconds = column === 'rtt' ? 1 : length(answer, period.every);
      // Without packets nothing was lost here, and nothing is known of round trips.
      const none = column === 'bytes' && answer.status === 'complete' ? ZERO : null;
      const isLoss = column === 'lost' || column === 'again';
      const found = row && (!isLoss || isMeasured(row)) ? range(row[column], answer.status !== 'complete' && column !== 'rtt') : none;
      if (found && found.value !== null && seconds !== null) figures[when] = scaled(found, seconds);
    }
    return figures.some((figure) => figure !== null) ? [{ name: node, color: `--s${at % 10}`, figures, width: nodes.length > 1 ? WIDEST / 2 ** at : 1.5 }] : [];
  });
}
