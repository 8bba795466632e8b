// Which part of the world is shown, and where sites stand in it.

import { byWorst, type Judged, type Place } from '../words/nodes';
import { NORTH, SOUTH } from './land';

/** Degrees: longitudes to the right, latitudes down. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Width to height. */
const ASPECT = 2.6;
/** No closer than this, degrees, and with so much of the box around sites. */
const [LEAST_WIDTH, AROUND] = [24, 0.12];
const WORLD: Box = { left: -180, top: -NORTH, width: 360, height: NORTH - SOUTH };

type Placed = Place & { at: NonNullable<Place['at']> };
export const placed = (places: Place[]): Placed[] => places.filter((place): place is Placed => place.at !== null);

/** Round all sites, in the form of the map, within the world. */
export function boxOf(places: Placed[]): Box {
  const [xs, ys] = [places.map(({ at }) => at.longitude), places.map(({ at }) => -at.latitude)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const width = Math.min(WORLD.width, Math.max(LEAST_WIDTH, (right - left) * (1 + 2 * AROUND), (bottom - top) * (1 + 2 * AROUND) * ASPECT));
  const height = Math.min(WORLD.height, width / ASPECT);
  const within = (middle: number, size: number, from: number, all: number) => Math.min(from + all - size, Math.max(from, middle - size / 2));
  return { left: within((left + right) / 2, width, WORLD.left, WORLD.width), top: within((top + bottom) / 2, height, WORLD.top, WORLD.height), width, height };
}

export interface Mark {
  /** Shares of the box. */
  x: number;
  y: number;
  places: Placed[];
  /** The worst first. */
  nodes: Judged[];
  rate: number;
}

/** Sites that would lie on each other are one mark. */
const NEAR = 0.025;

export function marksOf(places: Placed[], box: Box): Mark[] {
  const found: Mark[] = [];
  for (const place of places) {
    const [x, y] = [(place.at.longitude - box.left) / box.width, (-place.at.latitude - box.top) / box.height];
    const near = found.find((mark) => Math.hypot(mark.x - x, ((mark.y - y) * box.height) / box.width) < NEAR);
    if (near) {
      near.places.push(place);
      near.nodes.push(...place.nodes);
      near.rate += place.rate ?? 0;
    } else found.push({ x, y, places: [place], nodes: [...place.nodes], rate: place.rate ?? 0 });
  }
  for (const mark of found) mark.nodes.sort(byWorst);
  return found;
}
