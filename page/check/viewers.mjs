// What viewers cost a server: processor time and memory of its process without and with them.
//
//   node check/viewers.mjs URL PID [--viewers 20] [--seconds 60]
//
// A viewer is what a page is to the server: it fetches what a page fetches first, then follows the stream. Each must be told of a status
// and answers in the time; what that takes decides nothing. Prints a line of JSON. Linux alone.

import { readFileSync } from 'node:fs';

const [url, pid, ...rest] = process.argv.slice(2);
if (!url || !/^\d+$/.test(pid ?? '')) {
  console.error('usage: node check/viewers.mjs URL PID [--viewers 20] [--seconds 60]');
  process.exit(2);
}
const option = (name, other) => (rest.includes(name) ? Number(rest[rest.indexOf(name) + 1]) : other);
const [count, seconds] = [option('--viewers', 20), option('--seconds', 60)];
const base = `${url.replace(/\/+$/, '')}/api/v1`;
/** Of the kernel's clock, in which /proc tells times: sysconf(_SC_CLK_TCK). */
const TICKS = 100;
const failures = [];

const ticks = () => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return Number(fields[11]) + Number(fields[12]);
};
const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function measured() {
  const [begin, since] = [ticks(), performance.now()];
  await wait(seconds * 1000);
  return { core: Math.round(((ticks() - begin) / TICKS / ((performance.now() - since) / 1000)) * 1e4) / 1e4, rss_kib: memory() };
}

async function viewer(stop) {
  const seen = { status: 0, changes: 0, answer: 0, bytes: 0 };
  for (const path of ['/session', '/status', '/queries', '/events?limit=500', '/stories?limit=200']) await (await fetch(base + path, { signal: stop.signal })).text();
  const response = await fetch(`${base}/stream?nodes=changes`, { signal: stop.signal });
  void (async () => {
    try {
      const decoder = new TextDecoder();
      for await (const part of response.body) {
        seen.bytes += part.length;
        for (const [, name] of decoder.decode(part, { stream: true }).matchAll(/^event: (\w+)$/gm)) if (name in seen) seen[name] += 1;
      }
    } catch (error) {
      if (!stop.signal.aborted) failures.push(`a stream ended: ${error.message}`);
    }
  })();
  return seen;
}

const alone = await measured();
const stop = new AbortController();
const viewers = await Promise.all(Array.from({ length: count }, () => viewer(stop)));
await wait(2000);
const rounds = [];
for (let round = 0; round < 3; round += 1) rounds.push(await measured());
stop.abort();
for (const { status, changes, answer } of viewers) if (status + changes < 2 || answer < 1) failures.push(`a viewer was told ${status + changes} states and ${answer} answers`);
console.log(JSON.stringify({ url, viewers: count, seconds, alone, watched: rounds, told: viewers[0], failures: [...new Set(failures)] }));
process.exit(failures.length ? 1 : 0);
