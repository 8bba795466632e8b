// The one flow that a story is about, if its key has all of it.

import type { Row } from '../api/types';
import { fault, href } from '../flow/state';
import type { Times } from './about';

export function flowOf(key: Row, { from, to }: Times): string | null {
  const text = (name: string) => (key[name] === null || key[name] === undefined ? '' : String(key[name]));
  const flow = { src: text('src_addr'), dst: text('dst_addr'), sport: text('src_port'), dport: text('dst_port'), proto: text('protocol') };
  return fault(flow) === null ? href({ ...flow, from, to }) : null;
}
