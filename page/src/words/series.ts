// Answers as the lines of a chart.

import type { Answer, Query, Span } from '../api/types';
import { milliseconds } from './time';
import { bounds, largest, placeName } from './value';

export interface Line {
  name: string;
  values: (number | null)[];
  hasBounds: boolean;
  lower: (number | null)[];
  upper: (number | null)[];
}

export interface Lines {
  /** Ends of windows, seconds. */
  times: number[];
  lines: Line[];
  span: Span | null;
  /** Times without an answer between others. */
  gaps: number;
  /** Answers whose figure is not known, and those of a part of their window. */
  unknown: number;
  partial: number;
  late: number;
  /** Windows of which a part is known, seconds. */
  parts: [number, number][];
}

interface Point {
  at: number;
  value: number | null;
  bounds: [number, number] | null;
  isGap?: boolean;
}

/** A line for each node and what is pinned. Where a window has no answer, or none that is known, the line has a gap. */
export function series(answers: Answer[], column: string, query: Query | undefined): Lines {
  const names = [...new Set(answers.map(placeName))].sort((a, b) => a.localeCompare(b));
  const points = names.map((name) => pointsOf(answers.filter((answer) => placeName(answer) === name), column, query));
  const times = [...new Set(points.flat().map((point) => point.at))].sort((a, b) => a - b);
  const lines = points.map((own, at): Line => {
    const byTime = new Map(own.map((point) => [point.at, point]));
    // uPlot bridges undefined and leaves a gap at null: another node's time is no gap.
    const aligned = <T>(of: (point: Point) => T) =>
      times.map((time) => (byTime.has(time) ? of(byTime.get(time)!) : (undefined as T)));
    return {
      name: names[at],
      values: aligned((point) => point.value),
      hasBounds: own.some((point) => point.bounds !== null),
      lower: aligned((point) => point.bounds?.[0] ?? null),
      upper: aligned((point) => point.bounds?.[1] ?? null),
    };
  });
  const windows = answers.flatMap((answer) => (answer.window ? [answer.window] : []));
  const span = windows.length ? { start: windows[0].start, end: windows.at(-1)!.end } : null;
  const gaps = points.flat().filter(({ isGap }) => isGap).length;
  const unknown = points.flat().filter(({ value, isGap }) => value === null && !isGap).length;
  const incomplete = answers.flatMap(({ window, status }) => (window && status !== 'complete' ? [window] : []));
  const late = answers.filter((answer) => answer.window && answer.late).length;
  const parts = incomplete.map(({ start, end }): [number, number] => [milliseconds(start) / 1000, milliseconds(end) / 1000]);
  return { times, lines, span, gaps, unknown, partial: incomplete.length, late, parts };
}

function pointsOf(answers: Answer[], column: string, query: Query | undefined): Point[] {
  const points: Point[] = [];
  let end: number | null = null;
  for (const answer of answers) {
    if (!answer.window) continue;
    const [from, to] = [milliseconds(answer.window.start) / 1000, milliseconds(answer.window.end) / 1000];
    if (end !== null && from > end + 0.001) points.push({ at: (from + end) / 2, value: null, bounds: null, isGap: true });
    const value = largest(answer, column, query);
    // A run of empty windows is a line along zero, not one point at its end.
    if (answer.empty !== undefined) points.push({ at: from + 0.001, value, bounds: null });
    const row = answer.rows.length === 1 ? answer.rows[0][column] : null;
    points.push({ at: to, value, bounds: bounds(row) });
    end = to;
  }
  return points;
}
