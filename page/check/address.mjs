// Addresses and prefixes: what is one, how Edison writes it, and what lies in which, against Node's own (net.isIP, net.BlockList, URL). And what
// Flow says where a node saw what no other one misses. `npm run words`.

import { BlockList, isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const vite = await createServer({ root, configFile: false, logLevel: 'error', server: { middlewareMode: true, ws: false, watch: null }, appType: 'custom' });
const { canonical, hostHref, hostOf, isAddress, isIn, network } = await vite.ssrLoadModule('/src/host/address.ts');
const { verdict } = await vite.ssrLoadModule('/src/flow/where.ts');
const failures = [];
const expect = (holds, text) => holds || failures.push(text);

// The same numbers each time.
let seed = 20_261_201;
const random = (below) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
const four = () => Array.from({ length: 4 }, () => random(256)).join('.');
const six = () => Array.from({ length: 8 }, () => (random(3) ? '0' : random(65_536).toString(16))).join(':');
const WRITTEN = ['::', '::1', '1::', '2001:DB8::A', '2001:db8:0:0:1:0:0:1', '::ffff:192.0.2.1', '64:ff9b::192.0.2.33', 'fe80::1', '0:0:0:0:0:0:0:0', '1:2:3:4:5:6:7::'];
const WRONG = ['', 'a', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1.2.3.4/33', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', 'g::', '::1.2.3', '2001:db8::/129', '12345::', '<b>', '1.2.3.4 or 1'];

for (const text of [...WRITTEN, ...Array.from({ length: 2000 }, (_, at) => (at % 2 ? four() : six()))]) {
  expect(isIP(text) !== 0 && isAddress(text), `${text} is no address`);
  const told = canonical(text);
  if (isIP(text) === 4) expect(told === text, `${text} is written ${told}`);
  // URL writes the last 32 bits in groups of hexadecimal digits, always.
  else expect(new URL(`http://[${told}]/`).hostname === new URL(`http://[${text}]/`).hostname, `${text} is written ${told}`);
  if (isIP(text) === 6 && !text.includes('.')) expect(told.startsWith('::ffff:') || `[${told}]` === new URL(`http://[${text}]/`).hostname, `${text} is written ${told}`);
  expect(hostOf(hostHref(text).split('?')[0]) === told, `the host of ${hostHref(text)} is ${hostOf(hostHref(text))}`);
}
for (const text of WRONG) expect(!isAddress(text) && canonical(text) === null && hostOf(`/host/${encodeURIComponent(text)}`) === null, `${text} is an address`);
for (let round = 0; round < 2000; round += 1) {
  const [one, other] = round % 2 ? [four(), four()] : [six(), six()];
  const length = random(round % 2 ? 33 : 129);
  const list = new BlockList();
  const family = round % 2 ? 'ipv4' : 'ipv6';
  list.addSubnet(other, length, family);
  const address = random(2) ? one : other;
  expect(isIn(network(address), `${other}/${length}`) === list.check(address, family), `whether ${address} is in ${other}/${length}`);
}

const range = (value) => ({ value, lower: value, upper: value });
const side = (node, lost, again) => ({ node, packets: range(100), bytes: range(90_000), lost: range(lost), again: range(again), unseen: range(0), rtt: range(null), isMeasured: true, isPartial: false, isKnown: true });
const flow = { src: '10.0.0.1', dst: '10.0.0.2', sport: '1', dport: '2', proto: '6' };
const said = (...sides) => verdict(flow, sides, true, 'now');
expect(/^No loss is seen/.test(said(side('a', 0, 0), side('b', 0, 0)).lead), 'nothing is lost, and more is said');
expect(/between a and b: 1,460 bytes/.test(said(side('a', 0, 1460), side('b', 1460, 0)).lead), 'a loss between two nodes is not said');
const unlocated = said(side('a', 0, 8760), side('b', 0, 0));
expect(unlocated.isLost && /is not known: a saw 8,760 bytes again/.test(unlocated.lead), `what a node sees again is ${unlocated.lead}`);

await vite.close();
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length ? `${failures.length} failures` : 'addresses are what they should be');
process.exit(failures.length ? 1 : 0);
