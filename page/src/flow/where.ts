// Where a flow loses packets, in one sentence.

import { counted, number, percent } from '../words/number';
import { from, to, type Flow } from './state';
import type { Side } from './sides';

export interface Place {
  name: string;
  bytes: number;
}

/**
 * Bytes that are missing before a node were lost anywhere before it: those that the node before misses too were lost earlier. What a node sees
 * again was lost behind it, or sent without need.
 */
export function places(sides: Side[], isOrdered: boolean): Place[] {
  const seen = sides.filter(({ isMeasured, packets }) => isMeasured && Number(packets.value) > 0);
  if (!seen.length) return [];
  const lost = seen.map(({ lost }) => Number(lost.value ?? 0));
  const last = seen.at(-1)!;
  if (seen.length > 1 && !isOrdered) return seen.map(({ node }, at) => ({ name: `before ${node}`, bytes: lost[at] }));
  return [
    { name: `before ${seen[0].node}`, bytes: lost[0] },
    ...seen.slice(1).map(({ node }, at) => ({ name: `between ${seen[at].node} and ${node}`, bytes: Math.max(0, lost[at + 1] - lost[at]) })),
    { name: `behind ${last.node}`, bytes: Number(last.again.value ?? 0) },
  ];
}

/** Of the largest loss, what else is worth a word. */
const MENTIONED = 0.1;
const bytes = (count: number) => `${number(count)} bytes`;

export interface Verdict {
  lead: string;
  rest: string;
  isLost: boolean;
}

export function verdict(flow: Flow, sides: Side[], isOrdered: boolean, when: string): Verdict {
  const name = `${from(flow)} to ${to(flow)}`;
  const seen = sides.filter(({ packets }) => Number(packets.value) > 0);
  if (!sides.some(({ isKnown }) => isKnown)) return { lead: `Nothing is known of ${name} ${when}.`, rest: 'No node has answered; why is below.', isLost: false };
  if (!seen.length) return { lead: `No node saw a packet from ${name} ${when}.`, rest: '', isLost: false };
  const least = sides.some(({ isPartial, isKnown }) => isPartial || !isKnown) ? 'at least ' : '';
  const found = places(sides, isOrdered).filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  if (!seen.some(({ isMeasured }) => isMeasured)) return byPackets(name, seen, when);
  const measured = seen.filter(({ isMeasured }) => isMeasured);
  const others = seen.filter(({ isMeasured }) => !isMeasured).map(({ node }) => node);
  const order = [
    ...(isOrdered || measured.length < 2 ? [] : [' Neither round trips nor losses tell the order of the nodes.']),
    ...(others.length ? [` Losses are not measured at ${others.join(', ')}.`] : []),
  ].join('');
  // Where the next node tracks losses for a part of the time alone, it may have missed those of which the one before saw the repair.
  const unlocated = measured.filter(({ again }) => Number(again.value ?? 0) > 0);
  if (!found.length && unlocated.length) {
    const told = unlocated.map(({ node, again }) => `${node} saw ${bytes(Number(again.value))} again`).join(', ');
    return { lead: `Where ${name} is lost ${when} is not known: ${told}, and no node behind misses any.`, rest: `${seenBy(seen)} They were lost where losses are not tracked, or sent without need.${order}`, isLost: true };
  }
  if (!found.length) return { lead: `No loss is seen of ${name} ${when}.`, rest: `${seenBy(seen)}${order}`, isLost: false };
  const [first, ...more] = found;
  const of = Math.max(...seen.map(({ bytes }) => Number(bytes.value)));
  const also = more.filter((one) => one.bytes >= first.bytes * MENTIONED).map((one) => `${bytes(one.bytes)} ${one.name}`);
  return {
    lead: `The loss from ${name} is ${first.name}: ${least}${bytes(first.bytes)}, ${percent(first.bytes / (of + first.bytes))} of what was sent, ${when}.`,
    rest: `${also.length ? `Also ${also.join(', ')}.` : 'Nothing comparable is lost elsewhere.'}${order}`,
    isLost: true,
  };
}

const seenBy = (seen: Side[]) => `${seen.map(({ node, packets }) => `${node} saw ${number(packets.value)} packets`).join(', ')}.`;

/** Without losses the numbers of packets are all there is. */
function byPackets(name: string, seen: Side[], when: string): Verdict {
  const counts = seen.map(({ packets }) => Number(packets.value));
  const [most, fewest] = [Math.max(...counts), Math.min(...counts)];
  const rest = `Losses of this flow are not measured (TCP alone has them). ${seenBy(seen)}`;
  if (seen.length < 2) return { lead: `Whether packets from ${name} are lost is not known.`, rest, isLost: false };
  if (most === fewest) return { lead: `All nodes saw as many packets from ${name} ${when}: ${number(most)}.`, rest, isLost: false };
  const least = seen[counts.indexOf(fewest)].node;
  const [where, other] = [least, seen[counts.indexOf(most)].node];
  const share = percent((most - fewest) / most);
  return { lead: `${where} saw ${counted(most - fewest, 'packet')} less than ${other} from ${name} ${when}, ${share} of ${number(most)}.`, rest, isLost: true };
}
