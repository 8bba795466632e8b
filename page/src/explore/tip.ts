// What a chart has at one time: every series in the order of the stack, with its share, then all, then earlier ones.

import type { Drawn } from './plot';
import { NONE, plus, type Range } from './range';

export interface TipRow {
  name: string;
  color: string;
  figure: Range | null;
  /** Of all, where it is a part of it. */
  share: number | null;
}

export interface Tip {
  rows: TipRow[];
  all: Range | null;
  earlier: TipRow[];
}

export function tipOf(lines: Drawn[], at: number, isStacked: boolean): Tip {
  const now = lines.filter(({ isEarlier }) => !isEarlier);
  const figures = now.map(({ figures }) => figures[at] ?? null);
  const known = figures.filter((figure) => figure !== null);
  const all = isStacked && known.length ? known.reduce((a, b) => (a === null || b === NONE ? a : plus(a, b))) : null;
  const whole = Number(all?.value ?? 0);
  const row = ({ name, color }: Drawn, figure: Range | null): TipRow => ({
    name, color, figure, share: whole > 0 && figure !== null && figure.value !== null ? Number(figure.value) / whole : null,
  });
  const rows = now.map((line, which) => row(line, figures[which]));
  // Lines have the largest first; on a stack the largest lies at the bottom.
  if (!isStacked) rows.sort((a, b) => Number(b.figure?.value ?? -1) - Number(a.figure?.value ?? -1));
  const earlier = lines.filter(({ isEarlier }) => isEarlier).map((line) => ({ ...row(line, line.figures[at] ?? null), share: null }));
  return { rows: isStacked ? rows.reverse() : rows, all: now.length > 1 ? all : null, earlier };
}
