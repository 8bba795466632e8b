// Asks what is wrong with a text while it is written. The newest text wins.

import { address, post, Refused } from '../api/client';
import type { Checked } from '../api/types';

/** How long nothing is typed before a text is checked. */
const PAUSE_MS = 300;
/** A server that is busy, or away, is asked again. */
const AGAIN_MS = 2000;
const AGAIN = [0, 429, 503];

export class Check {
  result = $state.raw<Checked | null>(null);
  problem = $state<string | null>(null);
  isAsking = $state(false);
  #timer = 0;
  #asked: AbortController | null = null;
  readonly #settled: (text: string) => void;
  readonly #found: (checked: Checked | null, text: string) => void;

  /** `settled` gets each text once nothing more is typed, `found` what is said of it. */
  constructor(settled: (text: string) => void, found: (checked: Checked | null, text: string) => void) {
    [this.#settled, this.#found] = [settled, found];
  }

  ask(text: string, after = PAUSE_MS): void {
    this.forget();
    if (text.trim() === '') {
      this.#settled(text);
      this.#take(null, text);
      return;
    }
    this.isAsking = true;
    this.#timer = window.setTimeout(() => {
      this.#settled(text);
      void this.#send(text);
    }, after);
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.isAsking = false;
  }

  async #send(text: string): Promise<void> {
    const asked = (this.#asked = new AbortController());
    try {
      const checked = await post<Checked>(address('/check', { file: 'page.eq', replace: 'true' }), text, asked.signal);
      if (!asked.signal.aborted) this.#take(checked, text);
    } catch (error) {
      if (asked.signal.aborted) return;
      this.problem = (error as Error).message;
      this.isAsking = false;
      if (error instanceof Refused && AGAIN.includes(error.status)) this.#timer = window.setTimeout(() => void this.#send(text), AGAIN_MS);
    }
  }

  #take(checked: Checked | null, text: string): void {
    [this.result, this.problem, this.isAsking] = [checked, null, false];
    this.#found(checked, text);
  }
}
