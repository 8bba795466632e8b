// A flow, as the address of the page says it.

import { rooted } from '../api/root';
import { condition } from '../explore/literal';

export interface Flow {
  src: string;
  dst: string;
  sport: string;
  dport: string;
  proto: string;
}

export interface AskedFlow extends Flow {
  from: string;
  to: string;
}

const NAMES = ['src', 'dst', 'sport', 'dport', 'proto', 'from', 'to'] as const;
const PROTOCOLS: Record<string, string> = { tcp: '6', udp: '17', icmp: '1', icmp6: '58', sctp: '132' };

export function read(parameters: URLSearchParams): AskedFlow {
  const [src, dst, sport, dport, proto, from, to] = NAMES.map((name) => (parameters.get(name) ?? '').replace(/\s+/g, ' ').trim());
  return { src, dst, sport, dport, proto: PROTOCOLS[proto.toLowerCase()] ?? proto, from: from || '-1h', to };
}

export function href(flow: AskedFlow): string {
  const parameters = new URLSearchParams();
  NAMES.forEach((name) => flow[name] && !(name === 'from' && flow.from === '-1h') && parameters.set(name, flow[name]));
  return rooted(`/flow${parameters.size ? `?${parameters}` : ''}`);
}

const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) < 65_536;
const isAddress = (text: string) => condition('src_addr', text)?.includes(text) === true && /[.:]/.test(text);

/** What is wrong with it; null if it is a flow. */
export function fault({ src, dst, sport, dport, proto }: Flow): string | null {
  const missing = Object.entries({ source: src, destination: dst, 'source port': sport, 'destination port': dport, protocol: proto }).filter(([, text]) => text === '');
  if (missing.length) return `Give the ${missing.map(([name]) => name).join(', the ')}.`;
  if (!isAddress(src)) return `The source "${src}" is no address.`;
  if (!isAddress(dst)) return `The destination "${dst}" is no address.`;
  if (!isPort(sport) || !isPort(dport)) return 'A port is a number from 0 to 65535; 0 where the protocol has none.';
  if (!/^\d{1,3}$/.test(proto) || Number(proto) > 255) return `The protocol "${proto}" is neither a number nor tcp, udp, icmp, icmp6 or sctp.`;
  return null;
}

export const isEmpty = ({ src, dst, sport, dport }: Flow) => [src, dst, sport, dport].every((text) => text === '');

export const turned = (flow: Flow): Flow => ({ src: flow.dst, dst: flow.src, sport: flow.dport, dport: flow.sport, proto: flow.proto });

const end = (address: string, port: string) => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`);
export const from = ({ src, sport }: Flow) => end(src, sport);
export const to = ({ dst, dport }: Flow) => end(dst, dport);
