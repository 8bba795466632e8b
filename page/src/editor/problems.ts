// What the checker says, at its places in the text.

import type { Diagnostic as Problem } from '@codemirror/lint';
import type { Diagnostic } from '../api/types';

const SEVERITIES = { error: 'error', warning: 'warning', note: 'info' } as const;

/** Places in bytes of UTF-8, as those of the editor. */
export function places(text: string, bytes: number[]): number[] {
  const wanted = [...new Set(bytes)].sort((a, b) => a - b);
  const found = new Map<number, number>();
  let [at, byte] = [0, 0];
  for (const place of wanted) {
    while (byte < place && at < text.length) {
      const point = text.codePointAt(at)!;
      byte += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      at += point < 0x10000 ? 1 : 2;
    }
    found.set(place, at);
  }
  return bytes.map((place) => found.get(place)!);
}

export function problems(text: string, diagnostics: Diagnostic[]): Problem[] {
  const ends = places(text, diagnostics.flatMap(({ span }) => [span.start, span.end]));
  return diagnostics.map(({ severity, message, help }, at) => {
    // One of no letters is shown at the letter behind it, or before it at the end.
    const start = Math.min(ends[2 * at], Math.max(text.length - 1, 0));
    const end = Math.min(Math.max(ends[2 * at + 1], start + 1), text.length);
    return { from: start, to: end, severity: SEVERITIES[severity], message: help ? `${message}\n${help}` : message };
  });
}
