// Answers: the newest of each query and node, and the history of the queries that are looked at.

import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';
import { address, get } from '../api/client';
import type { Answer } from '../api/types';
import { place } from '../words/value';

/** Answers that are kept: of a query and node or instance, and of a query in all; then the number of queries. */
const MOST_ANSWERS = 600;
const MOST_IN_ALL = 6000;
const MOST_HISTORIES = 100;
/** Queries, and nodes and instances of each, whose newest answers are kept. */
const MOST_QUERIES = 1000;
const MOST_NODES = 256;
/** Answers that the server gives at once. */
const MOST_AT_ONCE = 10_000;
/** Rows of an answer of a history, and of a whole run: the others are in its rest. Streams are told at most as many as of a run. */
const MOST_ROWS = 100;
const MOST_ROWS_OF_RUN = 1000;
/** Answers that a history begins with. */
export const FIRST_ANSWERS = 300;

const end = (answer: Answer) => answer.window?.end ?? '9999';

const byNode = (a: Answer, b: Answer) => (a.node ?? '').localeCompare(b.node ?? '') || place(a).localeCompare(place(b));

/** A replaces B if it is of a later window, or a later answer of the same one. */
const isNewer = (a: Answer, b: Answer | undefined) =>
  !b || end(a) > end(b) || (end(a) === end(b) && Number(a.revision ?? 0) >= Number(b.revision ?? 0));

class Answers {
  /** By query: the newest answer of a window, of each node. */
  #latest = new SvelteMap<string, Answer[]>();
  /** By query: the answer of the whole run, of each node. */
  #ofRun = new SvelteMap<string, Answer[]>();
  /** By query: answers of windows, oldest first. */
  #history = new SvelteMap<string, Answer[]>();

  take(answer: Answer): void {
    const newest = answer.window === null ? this.#ofRun : this.#latest;
    const known = newest.get(answer.query) ?? [];
    if (newest.size < MOST_QUERIES || newest.has(answer.query)) newest.set(answer.query, replaced(known, answer));
    const history = this.#history.get(answer.query);
    if (history && answer.window !== null) this.#history.set(answer.query, merged(history, [answer]));
  }

  /** The newest answer of each node; those of the whole run where no window has one. */
  latest(query: string): Answer[] {
    const found = this.#latest.get(query) ?? [];
    const rest = (this.#ofRun.get(query) ?? []).filter((answer) => !found.some(({ node }) => node === answer.node));
    return [...found, ...rest].sort(byNode);
  }

  ofRun(): Answer[] {
    return [...this.#ofRun.values()].flat();
  }

  /** Forgets queries that are there no more. */
  keep(names: Set<string>): void {
    for (const known of [this.#latest, this.#ofRun, this.#history]) {
      for (const name of [...untrack(() => known.keys())]) if (!names.has(name)) known.delete(name);
    }
  }

  forget(): void {
    this.#latest.clear();
    this.#ofRun.clear();
    this.#history.clear();
  }

  history(query: string): Answer[] {
    return this.#history.get(query) ?? [];
  }

  /** Fetches what a query answered before, and keeps it up to date from then on. Who calls it in an effect does not depend on it. */
  async watch(query: string): Promise<void> {
    const known = untrack(() => this.#history.get(query));
    if (!known) this.#history.set(query, []);
    // The one that was begun first has been looked at longest ago.
    for (const name of [...untrack(() => this.#history.keys())].slice(0, -MOST_HISTORIES)) this.#history.delete(name);
    const { answers } = await get<{ answers: Answer[] }>(address('/answers', { query, limit: FIRST_ANSWERS, rows: MOST_ROWS }));
    // Between what is known and the newest there may be more, as after a lost connection.
    const first = answers.find(({ window }) => window !== null)?.window?.end ?? '';
    const last = known?.filter((answer) => end(answer) < first).at(-1)?.window?.end;
    if (last && answers.length >= FIRST_ANSWERS) {
      const more = await get<{ answers: Answer[] }>(address('/answers', { query, since: last, until: first, limit: MOST_AT_ONCE, rows: MOST_ROWS }));
      answers.unshift(...more.answers);
    }
    answers.filter((answer) => answer.window === null).forEach((answer) => this.take(answer));
    const windows = answers.filter((answer) => answer.window !== null);
    this.#history.set(query, merged(this.#history.get(query) ?? [], windows));
  }

  /** Fetches the answers of the whole run. */
  async fetchRun(): Promise<void> {
    const { answers } = await get<{ answers: Answer[] }>(address('/answers', { limit: 500, rows: MOST_ROWS_OF_RUN }));
    answers.filter((answer) => answer.window === null).forEach((answer) => this.take(answer));
  }
}

/** The list with an answer in the place of those of its node that are older. Of instances, those of one window stand side by side. */
function replaced(known: Answer[], answer: Answer): Answer[] {
  const isOld = (other: Answer) => other.node === answer.node && (end(other) < end(answer) || place(other) === place(answer));
  if (known.some((other) => other.node === answer.node && end(other) > end(answer))) return known;
  if (known.some((other) => place(other) === place(answer) && !isNewer(answer, other))) return known;
  return [...known.filter((other) => !isOld(other)), answer].sort(byNode).slice(0, MOST_NODES);
}

/** Both lists in one, each window of a node once, the oldest left out beyond the most of a node. */
function merged(kept: Answer[], more: Answer[]): Answer[] {
  const last = kept.at(-1);
  let all: Answer[];
  if (more.length === 1 && (!last || end(more[0]) > end(last))) {
    all = [...kept, more[0]];
  } else {
    const windows = new Map<string, Answer>();
    for (const answer of [...kept, ...more]) {
      const key = JSON.stringify([place(answer), answer.window?.start, answer.window?.end]);
      if (isNewer(answer, windows.get(key))) windows.set(key, answer);
    }
    all = [...windows.values()].sort((a, b) => (end(a) < end(b) ? -1 : end(a) > end(b) ? 1 : 0));
  }
  const left = new Map<string, number>();
  const counted = (answer: Answer) => {
    const number = (left.get(place(answer)) ?? 0) + 1;
    left.set(place(answer), number);
    return number <= MOST_ANSWERS;
  };
  return all.length > MOST_ANSWERS ? all.reverse().filter(counted).slice(0, MOST_IN_ALL).reverse() : all;
}

export const answers = new Answers();
