// A host that is asked of the node that sees most of it: again without losses where that does not measure them.

import type { Span } from '../api/types';
import { ask, type History, nodesOf } from '../explore/ask';
import type { Period } from '../explore/period';
import { isWatched } from '../explore/ranking';
import { networkOf, readHost, type Host } from '../host/read';
import { hostText, networkText, seenText } from '../host/text';
import { Asking } from './asking.svelte';

/** What a node saw of it; null where it has not answered. */
export interface Seen {
  node: string;
  bytes: number | null;
}

export interface FoundHost {
  address: string;
  period: Period;
  /** Where the figures are of. */
  node: string;
  seen: Seen[];
  host: Host;
  nodes: { name: string; missing: string | null }[];
  /** Its autonomous system and country, where databases know them. */
  network: string | null;
  text: string;
  watched: Span | null;
}

function seenBy({ answers, nodes }: History): Seen[] {
  const of = (name: string) => {
    const own = answers.filter(({ node }) => node === name).filter(isWatched);
    return own.length ? own.reduce((sum, { rows }) => sum + Number(rows[0]?.bytes ?? 0), 0) : null;
  };
  const all = nodes.map(({ name }) => ({ node: name, bytes: of(name) }));
  return all.sort((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1) || a.node.localeCompare(b.node));
}

export class Hosting extends Asking {
  /** Nodes that have refused to look up systems and countries: they are not asked again. */
  #withoutNetworks = new Set<string>();
  found = $state.raw<FoundHost | null>(null);

  /** `chosen`: the node to ask, empty for that which saw most; `earlier`: seconds to the time that it is compared with. */
  ask(address: string, period: Period, chosen: string, nodes: string[], earlier: number | null): Promise<void> {
    return this.during(async (signal) => {
      const first = nodes.length > 1 ? seenText(address, period) : null;
      const all = first === null ? null : await ask(first, signal);
      const seen = all ? seenBy(all) : [];
      const node = chosen || seen[0]?.node || nodes[0] || '';
      const text = hostText(address, period, node, true, earlier);
      const said = await ask(text, signal);
      const isRefused = said.nodes.some(({ missing }) => missing?.startsWith('refused'));
      const again = isRefused ? hostText(address, period, node, false, earlier) : null;
      const told = again === null ? said : await ask(again, signal);
      if (signal.aborted) return;
      const host = readHost(told.answers, period);
      const others = all ? [{ ...all, nodes: all.nodes.filter(({ name }) => name !== node) }] : [];
      this.found = { address, period, node, seen, host, nodes: nodesOf([...others, told]), network: null, text: [first, again ?? text].filter(Boolean).join('\n'), watched: host.watched };
      if (!host.watched || this.#withoutNetworks.has(node)) return;
      const way = Number(host.whole.sent.packets.value ?? 0) > 0 ? 'sent' : 'received';
      // What is not told here is no failure of the answer above.
      const networks = await ask(networkText(address, period, node, way), signal).catch(() => null);
      if (signal.aborted || networks === null) return;
      if (networks.nodes.some(({ missing }) => missing?.startsWith('refused'))) this.#withoutNetworks.add(node);
      else this.found = { ...this.found!, network: networkOf(networks.answers) };
    });
  }
}
