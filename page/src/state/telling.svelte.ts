// A story with what lies around it: the answers of its time, and what stores remember of its flows.

import { address, get, Refused } from '../api/client';
import type { Answer, Event, WholeStory } from '../api/types';
import { ask, type History, nodesOf } from '../explore/ask';
import type { Period } from '../explore/period';
import { type Path, paths, side } from '../flow/sides';
import { pathText } from '../story/text';
import type { Times } from '../story/about';
import { Asking } from './asking.svelte';

const MOST_ANSWERS = 1000;
const MOST_ROWS = 50;
/** Queries of a long chain. */
const MOST_QUERIES = 8;

export interface Way {
  there: Path;
  back: Path;
  nodes: { name: string; missing: string | null }[];
  withoutLosses: string[];
  text: string;
}

export class Telling extends Asking {
  story = $state.raw<WholeStory | null>(null);
  problem = $state<string | null>(null);
  answers = $state.raw<Answer[]>([]);
  way = $state.raw<Way | null>(null);

  async fetch(id: string): Promise<WholeStory | null> {
    try {
      [this.story, this.problem] = [await get<WholeStory>(address(`/stories/${encodeURIComponent(id)}`)), null];
      return this.story;
    } catch (error) {
      const isGone = error instanceof Refused && error.status === 404;
      this.problem = isGone ? `There is no story ${id}: the oldest are dropped.` : (error as Error).message;
      return null;
    }
  }

  /** What the queries of a story answered around it. */
  async around(events: Event[], { from, to }: Times): Promise<void> {
    const names = [...new Set(events.flatMap(({ query, fired_by }) => [query, ...(fired_by ? fired_by.split(', ') : [])]))].slice(0, MOST_QUERIES);
    const all = await Promise.all(names.map((query) => get<{ answers: Answer[] }>(address('/answers', { query, since: from, until: to, limit: MOST_ANSWERS, rows: MOST_ROWS })).catch(() => ({ answers: [] }))));
    this.answers = all.flatMap(({ answers }) => answers);
  }

  /** What nodes remember of its flows; again without losses where one does not measure them. */
  path(conditions: string[], period: Period): Promise<void> {
    return this.during(async (signal) => {
      const text = pathText(conditions, period, true);
      const said = await ask(text, signal);
      const withoutLosses = said.nodes.filter(({ missing }) => missing?.startsWith('refused')).map(({ name }) => name);
      const again = withoutLosses.length ? await ask(pathText(conditions, period, false), signal) : null;
      if (signal.aborted) return;
      const isOwn = ({ node }: Answer) => node !== null && !withoutLosses.includes(node);
      const answers = [...said.answers.filter(isOwn), ...(again?.answers.filter((answer) => !isOwn(answer)) ?? [])];
      const rest: History = { ...said, nodes: said.nodes.filter(({ name }) => !withoutLosses.includes(name)) };
      const nodes = nodesOf([rest, ...(again ? [{ ...again, nodes: again.nodes.filter(({ name }) => withoutLosses.includes(name)) }] : [])]);
      const { there, back } = paths(nodes.map(({ name }) => side(name, 'there', answers)), nodes.map(({ name }) => side(name, 'back', answers)));
      this.way = { there, back, nodes, withoutLosses, text };
    });
  }
}
