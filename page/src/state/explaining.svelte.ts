// Why traffic changed: a question that is under way.

import { address, post } from '../api/client';
import type { Change } from '../api/types';
import { Asking } from './asking.svelte';

export class Explaining extends Asking {
  found = $state.raw<Change | null>(null);

  ask(parameters: Record<string, string>, text: string): Promise<void> {
    return this.during(async (signal) => {
      const change = await post<Change>(address('/change', parameters), text, signal).catch((error) => {
        // What was found before is no answer to this question.
        if (!signal.aborted) this.found = null;
        throw error;
      });
      if (!signal.aborted) this.found = change;
    });
  }
}
