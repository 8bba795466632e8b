// What a query costs, as text.

import type { Explained } from '../api/types';
import { duration } from './time';

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];
const CLASSES = {
  row: 'counted exactly, from the rows of each window',
  zoom: 'counted exactly, of the few flows that it pins',
  sketch: 'counted in a sketch: estimates with bounds',
  sample: 'counted of a sample of the packets: estimates with bounds',
};

/** `128 MB` */
export function bytes(count: number): string {
  let [size, unit] = [count, 0];
  while (size >= 1000 && unit < UNITS.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toPrecision(3).replace(/\.?0+$/, '')} ${UNITS[unit]}`;
}

export const classWords = ({ class: of }: Explained) => CLASSES[of];

export const reaction = ({ reaction_ns }: Explained) =>
  reaction_ns === null ? 'runs always: nothing starts it' : `answers ${duration(reaction_ns)} after the end of the first window that fired`;
