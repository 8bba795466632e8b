// A time in which the page heard nothing: when it was, and what of it was fetched afterwards.

import type { Event, Status, Time } from '../api/types';

/** So long it is said that all is well again. */
const NEWS_MS = 60_000;

const now = (): Time => new Date().toISOString();

interface Known {
  events: Set<string>;
  /** The server's time of what is shown. */
  asOf: Time | null;
  started: Time | null;
}

export class Absence {
  /** By the clock of the browser; null where nothing was missed. */
  from = $state<Time | null>(null);
  /** Null while it lasts. */
  until = $state<Time | null>(null);
  asOf = $state<Time | null>(null);
  /** Events that happened meanwhile, or of which nothing was known. */
  missed = $state(0);
  /** There are more of them than the page keeps. */
  isCut = $state(false);
  hasRestarted = $state(false);
  #known: Known | null = null;
  #timer = 0;

  begin(events: Event[], status: Status | null): void {
    if (this.#known) return;
    clearTimeout(this.#timer);
    this.#known = { events: new Set(events.map(({ event }) => event)), asOf: status?.now ?? null, started: status?.started ?? null };
    [this.from, this.until, this.asOf] = [now(), null, this.#known.asOf];
  }

  /** Everything was fetched anew; `most` events at the most. */
  end(events: Event[], status: Status, most: number): void {
    const known = this.#known;
    if (!known) return;
    const missed = events.filter(({ event }) => !known.events.has(event)).length;
    this.#known = null;
    this.missed = missed;
    this.isCut = missed === events.length && missed >= most;
    this.hasRestarted = known.started !== null && known.started !== status.started;
    this.until = now();
    this.#timer = window.setTimeout(() => this.dismiss(), NEWS_MS);
  }

  dismiss(): void {
    clearTimeout(this.#timer);
    if (!this.#known) this.from = null;
  }
}
