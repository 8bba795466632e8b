import { answers } from './answers.svelte';
import { live } from './live.svelte';

/** While a component shows a query, what it answered before is fetched, and again after something may have been missed. */
export function keepHistory(query: () => string | null): void {
  const name = $derived(query());
  $effect(() => {
    if (live.epoch === 0 || name === null) return;
    answers.watch(name).catch((error) => (live.problem = error.message));
  });
}
