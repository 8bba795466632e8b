// A flow that is asked of all nodes: again without losses where a node does not measure them.

import { ask, type History, nodesOf } from '../explore/ask';
import type { Period } from '../explore/period';
import type { Flow } from '../flow/state';
import { flowText } from '../flow/text';
import { Asking } from './asking.svelte';

export interface FoundFlow {
  flow: Flow;
  period: Period;
  answers: History['answers'];
  nodes: { name: string; missing: string | null }[];
  /** They count packets, but measure no losses. */
  withoutLosses: string[];
  text: string;
}

export class Flowing extends Asking {
  found = $state.raw<FoundFlow | null>(null);

  ask(flow: Flow, period: Period): Promise<void> {
    return this.during(async (signal) => {
      const text = flowText(flow, period, true, []);
      const said = await ask(text, signal);
      const refused = said.nodes.filter(({ missing }) => missing?.startsWith('refused')).map(({ name }) => name);
      const again = refused.length ? flowText(flow, period, false, refused) : null;
      const more = again === null ? null : await ask(again, signal);
      if (signal.aborted) return;
      const kept = said.answers.filter(({ node }) => node === null || !refused.includes(node));
      const nodes = nodesOf([{ ...said, nodes: said.nodes.filter(({ name }) => !refused.includes(name)) }, ...(more ? [more] : [])]);
      this.found = { flow, period, answers: [...kept, ...(more?.answers ?? [])], nodes, withoutLosses: refused, text: again === null ? text : `${text}\n${again}` };
    });
  }
}
