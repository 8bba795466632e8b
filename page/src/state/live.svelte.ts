// What the page knows, kept up to date by the stream.

import { address, enter, get, Refused, remove } from '../api/client';
import { listen } from '../api/stream';
import type { Answer, Event, Integer, Query, Session, Status, Story } from '../api/types';
import { firing } from '../words/firing';
import { Absence } from './absence.svelte';
import { answers } from './answers.svelte';

const MOST_EVENTS = 500;
const MOST_STORIES = 200;
/** The status of a call that needs a token. */
const UNAUTHORIZED = 401;

/** A story as the stream tells it: with its events, not their number. */
type Told = Story & { events: string[]; events_unlisted: Integer };

const withTotal = (told: Told): Story => ({ ...told, events_total: told.events.length + Number(told.events_unlisted) });

class Live {
  connection = $state<'connecting' | 'open' | 'lost'>('connecting');
  readonly absence = new Absence();
  status = $state.raw<Status | null>(null);
  queries = $state.raw<Query[] | null>(null);
  /** The newest first. */
  events = $state.raw<Event[]>([]);
  /** The newest first. */
  stories = $state.raw<Story[]>([]);
  /** Changes whenever something may have been missed: what was fetched is fetched anew. */
  epoch = $state(0);
  problem = $state<string | null>(null);
  /** Nothing is shown without a token. */
  isLocked = $state(false);
  session = $state.raw<Session | null>(null);
  /** Events and stories were fetched once. */
  isComplete = $state(false);

  /** What fires now. */
  firing = $derived(this.status?.ended ? [] : firing(this.queries ?? [], this.events));
  isRun = $derived(this.status?.mode === 'run');
  /** Whether who asks may change queries. */
  mayRun = $derived(this.session?.role === 'run' || this.session?.role === 'admin');

  start(): void {
    listen({
      opened: () => {
        this.connection = 'open';
        void this.refresh();
      },
      lost: () => {
        this.lose();
        if (!this.status) void this.refresh();
      },
      refused: async () => {
        this.lose();
        await this.refresh();
        return !this.isLocked;
      },
      said: (name, data) => this.said(name, data),
      silent: () => this.status?.ended !== true,
    });
  }

  lose(): void {
    this.connection = 'lost';
    if (this.isComplete) this.absence.begin(this.events, this.status);
  }

  /** Shows a token; what is wrong with it, if anything is. */
  async enter(token: string): Promise<string | null> {
    // No other letter can be sent.
    if (!/^[!-~]+$/.test(token)) return 'This is no token: it has letters, digits, - and _ alone.';
    try {
      this.session = await enter<Session>(address('/session'), token);
    } catch (error) {
      return error instanceof Refused ? error.message : String(error);
    }
    this.isLocked = false;
    this.start();
    return null;
  }

  /** Ends the session; the page asks for a token again. */
  async leave(): Promise<void> {
    try {
      await remove(address('/session'));
      location.reload();
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  said(name: string, data: unknown): void {
    if (name === 'status') this.takeStatus(data as Status);
    if (name === 'changes') this.takeChanges(data as Status);
    if (name === 'queries') this.takeQueries((data as { queries: Query[] }).queries);
    if (name === 'answer') answers.take(data as Answer);
    if (name === 'event') this.takeEvents([data as Event]);
    if (name === 'story') this.takeStories([withTotal(data as Told)]);
    if (name === 'lagged') void this.refresh();
  }

  /** Fetches everything anew. */
  async refresh(): Promise<void> {
    try {
      // First: without a token nothing else needs to be asked.
      this.session = await get<Session>(address('/session'));
      const [status, queries, events, stories] = await Promise.all([
        get<Status>(address('/status')),
        get<{ queries: Query[] }>(address('/queries')),
        get<{ events: Event[] }>(address('/events', { limit: MOST_EVENTS })),
        get<{ stories: Story[] }>(address('/stories', { limit: MOST_STORIES })),
      ]);
      // The stream may have said more since it was asked for.
      const own = this.status;
      if (!own || own.started !== status.started || own.now <= status.now) this.takeStatus(status);
      this.takeQueries(queries.queries);
      this.takeEvents(events.events);
      this.takeStories(stories.stories);
      this.absence.end(events.events, status, MOST_EVENTS);
      if (status.mode === 'run') await answers.fetchRun();
      this.problem = null;
      this.isComplete = true;
      this.epoch += 1;
    } catch (error) {
      this.isLocked = error instanceof Refused && error.status === UNAUTHORIZED;
      this.problem = this.isLocked ? null : error instanceof Refused ? error.message : String(error);
    }
  }

  takeStatus(status: Status): void {
    const hasEnded = status.ended && this.status !== null && !this.status.ended;
    if (this.status && this.status.started !== status.started) this.forget();
    this.status = status;
    if (hasEnded) void this.refresh();
  }

  /** A status whose nodes are those alone that changed. */
  takeChanges(changed: Status): void {
    if (!this.status) return;
    const byName = new Map(changed.nodes.map((node) => [node.name, node]));
    this.takeStatus({ ...changed, nodes: this.status.nodes.map((node) => byName.get(node.name) ?? node) });
  }

  /** Another Edison answers: what this one did not say is not shown. */
  forget(): void {
    [this.events, this.stories, this.queries, this.isComplete] = [[], [], [], false];
    answers.forget();
  }

  takeQueries(queries: Query[]): void {
    this.queries = queries;
    // A run has answers of its own beside those of queries.
    if (this.status?.mode === 'controller') answers.keep(new Set(queries.map(({ name }) => name)));
    queries.forEach((query) => query.latest?.forEach((answer) => answers.take(answer)));
  }

  takeEvents(more: Event[]): void {
    const new_ = new Map(more.map((event) => [event.event, event]));
    const all = [...this.events.filter((event) => !new_.has(event.event)).reverse(), ...new_.values()];
    all.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
    this.events = all.reverse().slice(0, MOST_EVENTS);
  }

  takeStories(more: Story[]): void {
    const stories = new Map(this.stories.map((story) => [story.id, story]));
    for (const story of more) {
      const first = this.events.find((event) => event.event === story.id);
      const known = stories.get(story.id);
      stories.set(story.id, {
        id: story.id,
        title: story.title ?? known?.title ?? first?.title ?? null,
        text: story.text,
        at: story.at ?? known?.at ?? first?.at,
        query: story.query ?? known?.query ?? first?.query,
        node: story.node ?? known?.node ?? first?.node,
        events_total: story.events_total,
        acknowledged: story.acknowledged,
        silence: story.silence,
      });
    }
    const all = [...stories.values()];
    all.sort((a, b) => ((a.at ?? '') < (b.at ?? '') ? 1 : (a.at ?? '') > (b.at ?? '') ? -1 : 0));
    this.stories = all.slice(0, MOST_STORIES);
  }

  storyOf(event: Event): Story | undefined {
    return this.stories.find((story) => story.id === event.story || story.id === event.event);
  }
}

export const live = new Live();
