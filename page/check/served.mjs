// The mock, for as long as a check needs it.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../mock/server.mjs', import.meta.url));

/** The mock with these words, until `use` is done. It is told where the page is, without a slash at the end. */
export async function served(words, use) {
  const server = spawn(process.execPath, [SERVER, '--port', '0', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const base = await new Promise((done, refuse) => {
      server.stdout.on('data', (data) => done(/http:\/\/\S+/.exec(String(data))[0].replace(/\/$/, '')));
      server.on('exit', () => refuse(new Error(`the mock ${words.join(' ')} has ended`)));
    });
    await use(base);
  } finally {
    server.removeAllListeners('exit');
    server.kill();
  }
}
