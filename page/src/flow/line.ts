// The way of packets as a line of ends and nodes, with what is lost on each stretch.

import { amount } from '../explore/measures';
import { number, percent, short } from '../words/number';
import type { Side } from './sides';
import { places } from './where';

export interface Stop {
  name: string;
  note: string;
  isNode: boolean;
}

export interface Stretch {
  text: string;
  isLost: boolean;
  isKnown: boolean;
}

/** What reordering hides. */
const NOISE = 0.1;

/** Of nodes that are in order, or of one; null where nothing tells how they lie. */
export function lineOf(from: string, to: string, sides: Side[], isOrdered: boolean): { stops: Stop[]; stretches: Stretch[] } | null {
  const seen = sides.filter(({ packets }) => Number(packets.value) > 0);
  if (!seen.length || (seen.length > 1 && !isOrdered)) return null;
  const found = places(seen, isOrdered);
  const most = Math.max(...seen.map(({ bytes }) => Number(bytes.value ?? 0)));
  const isLeast = seen.some(({ isPartial }) => isPartial);
  const stretch = (at: number): Stretch => {
    // Without the losses of each node a stretch has none of its own.
    const place = found.length === seen.length + 1 ? found[at] : undefined;
    if (!place) return { text: 'not measured', isLost: false, isKnown: false };
    // Of what a node sees again, and the next one does not, that one may have missed the loss: it tracks losses for a part of the time.
    const again = at > 0 && at < seen.length ? Number(seen[at - 1].again.value ?? 0) - Number(seen[at].again.value ?? 0) : 0;
    const isMore = again > place.bytes * (1 + NOISE);
    if (place.bytes === 0 && isMore) return { text: `${amount(again, 'bytes')} sent again, not located`, isLost: false, isKnown: false };
    if (place.bytes === 0) return { text: isLeast ? 'none seen' : 'none lost', isLost: false, isKnown: true };
    return { text: `${isLeast || isMore ? 'at least ' : ''}${amount(place.bytes, 'bytes')} lost, ${percent(place.bytes / (most + place.bytes))}`, isLost: true, isKnown: true };
  };
  const stops: Stop[] = [
    { name: from, note: '', isNode: false },
    ...seen.map(({ node, packets }) => ({ name: node, note: `${Number(packets.value) < 1e5 ? number(packets.value) : short(packets.value!, '')} packets`, isNode: true })),
    { name: to, note: '', isNode: false },
  ];
  return { stops, stretches: Array.from({ length: stops.length - 1 }, (_, at) => stretch(at)) };
}
