// Names beside the series of a chart, and a series that is lit.

import type uPlot from 'uplot';
import type { Drawn } from './plot';

/** Of each window where a series begins and ends: from zero where it is a line. */
interface Reach {
  line: Drawn;
  from: (number | null)[];
  to: (number | null)[];
}

const value = (line: Drawn, at: number): number | null => {
  const found = line.figures[at]?.value;
  return found === null || found === undefined ? null : Number(found);
};

/** As `plotted` puts them: on each other where areas are drawn, in their order. */
function reaches(lines: Drawn[], isStacked: boolean, windows: number): Reach[] {
  const now = lines.filter(({ isEarlier }) => !isEarlier);
  const sums = Array.from({ length: windows }, (_, at): number | null => (now.some(({ figures }) => figures[at]) ? 0 : null));
  return now.map((line) => {
    if (!isStacked) return { line, from: sums.map(() => 0), to: sums.map((_, at) => value(line, at)) };
    const from = [...sums];
    sums.forEach((sum, at) => sum !== null && (sums[at] = sum + (value(line, at) ?? 0)));
    return { line, from, to: [...sums] };
  });
}

/** Below it there is no room for names. */
const WIDE = 700;
const MOST_NAME = 150;
const FONT = '12px sans-serif';
/** From one name to the next. */
const LINE = 15;

function fitting(context: CanvasRenderingContext2D, name: string, most: number): string {
  if (context.measureText(name).width <= most) return name;
  let end = name.length;
  while (end > 1 && context.measureText(`${name.slice(0, end)}…`).width > most) end -= 1;
  return `${name.slice(0, end)}…`;
}

/** The room that names take at the right of a chart of this width; 0 where they have none. */
export function roomFor(lines: Drawn[], width: number): number {
  const now = lines.filter(({ isEarlier }) => !isEarlier);
  const context = document.createElement('canvas').getContext('2d');
  if (width < WIDE || now.length < 2 || !context) return 0;
  context.font = FONT;
  return Math.ceil(Math.max(...now.map(({ name }) => Math.min(MOST_NAME, context.measureText(name).width)))) + 22;
}

/** Writes the names of series at their ends, those with most room first; one that does not fit has none. */
export function named(u: uPlot, lines: Drawn[], isStacked: boolean, windows: number, color: (name: string) => string): void {
  const pixel = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const last = ({ to }: Reach) => to.reduce<number>((found, figure, at) => (figure === null ? found : at), -1);
  const ends = reaches(lines, isStacked, windows).flatMap((of) => {
    const at = last(of);
    // One that has ended long before has no name at the end.
    if (at < windows - 3) return [];
    const [from, to] = [isStacked ? of.from[at]! : of.to[at]!, of.to[at]!].map((figure) => u.valToPos(figure, 'y', true));
    return [{ line: of.line, y: (from + to) / 2, room: Math.abs(from - to) }];
  });
  const placed: number[] = [];
  u.ctx.save();
  u.ctx.font = FONT.replace('12', String(12 * pixel));
  u.ctx.textBaseline = 'middle';
  u.ctx.textAlign = 'left';
  for (const { line, y } of ends.sort((a, b) => b.room - a.room)) {
    if (y < top || y > top + height || placed.some((other) => Math.abs(other - y) < LINE * pixel)) continue;
    placed.push(y);
    const x = left + width + 8 * pixel;
    u.ctx.fillStyle = color(line.color);
    u.ctx.fillRect(x, y - 4 * pixel, 8 * pixel, 8 * pixel);
    u.ctx.fillStyle = color('--ink2');
    u.ctx.fillText(fitting(u.ctx, line.name, MOST_NAME * pixel), x + 13 * pixel, y);
  }
  u.ctx.restore();
}

/** Puts a veil over all series but one. */
export function lit(u: uPlot, name: string, lines: Drawn[], isStacked: boolean, times: number[], every: number, points: 1 | 2, color: (name: string) => string): void {
  const of = reaches(lines, isStacked, times.length).find(({ line }) => line.name === name);
  if (!of) return;
  const pixel = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const places = (at: number) => (points === 2 ? [times[at], times[at] + every] : [times[at] + every / 2]).map((x) => u.valToPos(x, 'x', true));
  const y = (figure: number) => u.valToPos(figure, 'y', true);
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  u.ctx.globalAlpha = 0.6;
  u.ctx.fillStyle = color('--panel');
  u.ctx.fillRect(left, top, width, height);
  u.ctx.globalAlpha = 1;
  [u.ctx.fillStyle, u.ctx.strokeStyle, u.ctx.lineWidth] = [color(of.line.fill ?? of.line.color), color(of.line.color), (isStacked ? 1 : 3) * pixel];
  let begin = 0;
  while (begin < times.length) {
    const isKnown = (at: number) => at < times.length && of.to[at] !== null;
    if (!isKnown(begin)) {
      begin += 1;
      continue;
    }
    let end = begin;
    while (isKnown(end)) end += 1;
    const shown = Array.from({ length: end - begin }, (_, at) => begin + at);
    u.ctx.beginPath();
    for (const at of shown) for (const x of places(at)) u.ctx.lineTo(x, y(of.to[at]!));
    if (isStacked) {
      for (const at of shown.reverse()) for (const x of places(at).reverse()) u.ctx.lineTo(x, y(of.from[at]!));
      u.ctx.closePath();
      u.ctx.fill();
    }
    u.ctx.stroke();
    begin = end;
  }
  u.ctx.restore();
}

/** A time that is meant, on a ground of its own. */
export interface Shade {
  from: number;
  to: number;
  color: string;
}

export function shaded(u: uPlot, shades: Shade[], color: (name: string) => string): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  for (const { from, to, color: name } of shades) {
    const [begin, end] = [from, to].map((x) => Math.min(left + width, Math.max(left, u.valToPos(x, 'x', true))));
    if (end <= begin) continue;
    u.ctx.globalAlpha = 0.16;
    u.ctx.fillStyle = color(name);
    u.ctx.fillRect(begin, top, end - begin, height);
    u.ctx.globalAlpha = 1;
    u.ctx.fillRect(begin, top + height - 3 * devicePixelRatio, end - begin, 3 * devicePixelRatio);
  }
  u.ctx.restore();
}
