// Lines as the columns of a chart.

import type { Range } from './range';

export interface Drawn {
  name: string;
  /** The name of a colour of app.css. */
  color: string;
  /** What areas are filled with, where that is another one. */
  fill?: string;
  figures: (Range | null)[];
  width?: number;
  /** Of an earlier period: dashed, and not stacked. */
  isEarlier?: boolean;
}

export interface Series {
  color: string;
  width: number;
  isDashed: boolean;
  isHidden: boolean;
  /** The name of the colour of the area below; null for none. */
  fill: string | null;
}

export interface Plot {
  data: (number | null)[][];
  series: Series[];
  bands: { upper: number; lower: number; color: string; opacity: string }[];
  /** Points of a window: few windows are steps, each as wide as it is. */
  points: 1 | 2;
}

const middle = ({ value }: Range) => (value === null ? null : Number(value));
const column = (figures: (Range | null)[], of: (figure: Range) => number | null) => figures.map((figure) => (figure ? of(figure) : null));
const bound = (of: Range['value']) => (of === null ? null : Number(of));
const isEstimated = ({ value, lower, upper }: Range) => upper !== null && lower !== null && (Number(lower) !== Number(value) || Number(upper) !== Number(value));

/** The bounds of all lines together. */
function stacked(lines: Drawn[], at: number, value: number): Range {
  const part = (of: 'lower' | 'upper') =>
    lines.reduce((sum: number | null, { figures }) => (sum === null || figures[at]?.[of] === null ? null : sum + Number(figures[at]?.[of] ?? 0)), 0);
  const [lower, upper] = [part('lower'), part('upper')];
  // Fractions add up to the same but for their last digits.
  const isSame = upper !== null && lower !== null && upper - lower < 1e-9 * upper;
  return isSame ? { value, lower: value, upper: value } : { value, lower, upper };
}

/** Fewer windows are drawn as steps: a slope would tell of times between them. */
const FEW = 30;
/** Of a window: where its step begins and ends. */
const EDGE = 1e-4;

/** Points lie in the middle of their windows, or at both ends of a step. */
export function plotted(times: number[], every: number, lines: Drawn[], isStacked: boolean): Plot {
  const isFew = times.length < FEW;
  const points = isFew ? 2 : 1;
  const edges = (time: number) => [time + every * EDGE, time + every * (1 - EDGE)];
  const plot: Plot = { data: [isFew ? times.flatMap(edges) : times.map((time) => time + every / 2)], series: [], bands: [], points };
  const add = (data: (number | null)[], color: string, more: Partial<Series> = {}) => {
    plot.data.push(isFew ? data.flatMap((value) => [value, value]) : data);
    plot.series.push({ color, width: 1.5, isDashed: false, isHidden: false, fill: null, ...more });
    return plot.series.length - 1;
  };
  const band = (line: Drawn, top: number) => {
    if (!line.figures.some((figure) => figure && isEstimated(figure))) return;
    const upper = add(column(line.figures, (figure) => (isEstimated(figure) ? bound(figure.upper) : null)), line.color, { isHidden: true });
    const lower = add(column(line.figures, (figure) => (isEstimated(figure) ? bound(figure.lower) : null)), line.color, { isHidden: true });
    if (top >= 0) plot.bands.push({ upper, lower, color: line.color, opacity: '33' });
  };
  const [now, before] = [lines.filter(({ isEarlier }) => !isEarlier), lines.filter(({ isEarlier }) => isEarlier)];
  if (isStacked) {
    // One on top of the other: each covers those above it, so that no clip is needed, which would take most of the time. A line without
    // a figure adds nothing, unless the window has no answer at all.
    const sums = times.map((_, at): number | null => (now.some(({ figures }) => figures[at]) ? 0 : null));
    const tops = now.map(({ color, fill, figures }) => {
      figures.forEach((figure, at) => {
        if (sums[at] !== null) sums[at] += (figure && middle(figure)) ?? 0;
      });
      return { color, fill, sums: [...sums] };
    });
    const highest = plot.series.length;
    // A thin gap of the ground between areas; those of a pale fill have a line of their own.
    for (const { color, fill, sums } of tops.reverse()) add(sums, fill ? color : '--panel', { fill: fill ?? color, width: 1 });
    const whole = { name: '', color: '--ink', figures: sums.map((sum, at) => (sum === null ? null : stacked(now, at, sum))) };
    if (now.length) band(whole, highest);
  } else {
    for (const line of now) band(line, add(column(line.figures, middle), line.color, { width: Math.max(1.2, line.width ?? 1.5) }));
  }
  for (const { color, figures } of before) {
    // Over areas a line is seen on a ground of its own.
    if (isStacked) add(column(figures, middle), '--panel', { width: 3.5 });
    add(column(figures, middle), color, { isDashed: true, width: isStacked ? 1.6 : 1.2 });
  }
  return plot;
}

/** Points without a neighbour: a line does not show them. */
export function isolated(data: ArrayLike<number | null | undefined>): number[] {
  const isKnown = (at: number) => data[at] !== null && data[at] !== undefined;
  const all: number[] = [];
  for (let at = 0; at < data.length; at += 1) if (isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1)) all.push(at);
  return all;
}
