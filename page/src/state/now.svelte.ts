// What the traffic does now: fetched again while it is looked at.

import { address, get, Refused } from '../api/client';
import type { Now, Unusual } from '../api/now';
import { isAddress } from '../host/address';

/** Steps of a live run are a minute: so often a new one is looked for. */
const AGAIN_MS = 15_000;
const ABSENT = 404;
export const MOST_ROWS = 10;
/** As many as the server lists at the most. */
export const ALL_ROWS = 50;

/** Addresses of the rankings that came last: what the search box finds, too. */
export const ranked = $state<{ addresses: string[] }>({ addresses: [] });

const addressesOf = ({ rankings }: Now): string[] =>
  [...new Set(rankings.flatMap(({ rows }) => rows.flatMap(({ key }) => Object.values(key))).filter((one): one is string => typeof one === 'string' && isAddress(one)))];

export class Traffic {
  now = $state.raw<Now | null>(null);
  unusual = $state.raw<Unusual | null>(null);
  /** Nothing is kept here that could be told. */
  isAbsent = $state(false);
  /** Asked, and answered or not. */
  isSettled = $state(false);
  #timer = 0;
  #isStopped = false;
  #node: string | null = null;

  /** Follows the traffic of a node, or of all; what it gives ends that. */
  follow(node: string, top = MOST_ROWS): () => void {
    this.#isStopped = false;
    // What is known of another node, or of all, is not of this one.
    if (this.#node !== null && this.#node !== node) [this.now, this.unusual, this.isAbsent, this.isSettled] = [null, null, false, false];
    this.#node = node;
    const onshow = () => document.visibilityState === 'visible' && void this.#fetch(node, top);
    document.addEventListener('visibilitychange', onshow);
    void this.#fetch(node, top);
    return () => {
      this.#isStopped = true;
      clearTimeout(this.#timer);
      document.removeEventListener('visibilitychange', onshow);
    };
  }

  async #fetch(node: string, top: number): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const [now, unusual] = await Promise.all([
        get<Now>(address('/now', { node, top })),
        get<Unusual>(address('/unusual', { node })),
      ]);
      if (this.#isStopped || this.#node !== node) return;
      [this.now, this.unusual, this.isAbsent] = [now, unusual, false];
      ranked.addresses = addressesOf(now);
    } catch (error) {
      if (this.#isStopped || this.#node !== node) return;
      // What was known stays: the page says that it hears nothing.
      if (error instanceof Refused && error.status === ABSENT) [this.now, this.unusual, this.isAbsent] = [null, null, true];
    }
    this.isSettled = true;
    const isOver = this.isAbsent || (this.now?.ended ?? false);
    if (!isOver && document.visibilityState === 'visible') this.#timer = window.setTimeout(() => void this.#fetch(node, top), AGAIN_MS);
  }
}
