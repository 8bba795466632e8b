// What happened to a host: firings whose key has its address, or a prefix that it lies in, and what is unusual of it.

import type { Entry } from '../api/now';
import type { Event, Row } from '../api/types';
import { isIn, network, type Network } from './address';

export interface Happened {
  id: string;
  at: string;
  text: string;
  /** Of an event: its story is told there. */
  event: Event | null;
  isUnusual: boolean;
}

const has = (address: Network, key: Row): boolean => Object.values(key).some((value) => typeof value === 'string' && isIn(address, value));

/** The newest first; of an event that ended only its firing. */
export function happened(address: string, events: Event[], entries: Entry[], title: (event: Event) => string): Happened[] {
  const own = network(address);
  if (!own) return [];
  const fired = events.filter(({ kind, key }) => kind === 'fired' && has(own, key));
  const unusual = entries.filter(({ key }) => has(own, key));
  const all: Happened[] = [
    ...fired.map((event) => ({ id: event.event, at: event.at, text: title(event), event, isUnusual: false })),
    ...unusual.map(({ id, since, text }) => ({ id, at: since, text, event: null, isUnusual: true })),
  ];
  return all.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}
