// A question to the stores of nodes that is under way: a new one leaves the one before.

import { Refused } from '../api/client';
import { trouble, type Trouble } from '../explore/ask';
import { live } from './live.svelte';

const UNAUTHORIZED = 401;

export class Asking {
  isAsking = $state(false);
  trouble = $state.raw<Trouble | null>(null);
  #stop: AbortController | null = null;

  /** Does the work until it is done, or left for another one. */
  protected async during(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    [this.isAsking, this.trouble] = [true, null];
    try {
      await work(stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      this.trouble = trouble(error);
      // A session that has ended is asked for anew.
      if (error instanceof Refused && error.status === UNAUTHORIZED) void live.refresh();
    } finally {
      if (this.#stop === stop) [this.#stop, this.isAsking] = [null, false];
    }
  }

  stop(): void {
    this.#stop?.abort();
    [this.#stop, this.isAsking] = [null, false];
  }
}
