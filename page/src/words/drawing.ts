// How charts are drawn, and how long that takes.

import type uPlot from 'uplot';

/** A line of this many points a pixel is dense. */
const DENSE = 0.5;

/**
 * The width of a line over a chart of `pixels` pixels. Where points are denser than pixels it is one of the screen's own: a wider line is
 * an outline with a joint at each point, which takes fifty times as long to fill and looks the same.
 */
export const widthFor = (wanted: number, points: number, pixels: number) => (points > DENSE * pixels ? 1 / devicePixelRatio : wanted);

/** Begins a measure of the browser's time line (`chart`); what it gives ends it, once. */
export function timed(): () => void {
  const start = performance.now();
  let isDone = false;
  return () => {
    if (!isDone) performance.measure('chart', { start });
    isDone = true;
  };
}

const parts = (color: string) => {
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit) : color.slice(1).match(/../g)!;
  return digits.map((part) => parseInt(part, 16));
};

/** What a share of a colour (`#rrggbb`) over another one looks like. */
export function mixed(color: string, over: string, share: number): string {
  const [above, below] = [parts(color), parts(over)];
  return `rgb(${above.map((part, at) => Math.round(part * share + below[at] * (1 - share))).join(' ')})`;
}

/** Pixels from one stroke to the next. */
const HATCH = 6;

/** Times of which a part was seen look so, also without colour. */
export function hatch(u: uPlot, times: [number, number][], color: string): void {
  const { left: first, width, top, height: high } = u.bbox;
  const pixel = devicePixelRatio;
  u.ctx.save();
  u.ctx.strokeStyle = color;
  u.ctx.globalAlpha = 0.45;
  u.ctx.lineWidth = pixel;
  for (const [from, to] of times) {
    // What lies beside the chart is not drawn over its labels.
    const [left, right] = [from, to].map((x) => Math.min(first + width, Math.max(first, u.valToPos(x, 'x', true))));
    const wide = Math.max(2 * pixel, right - left);
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, wide, high);
    u.ctx.clip();
    u.ctx.beginPath();
    for (let x = left - high; x < left + wide; x += HATCH * pixel) {
      u.ctx.moveTo(x, top + high);
      u.ctx.lineTo(x + high, top);
    }
    u.ctx.stroke();
    u.ctx.restore();
  }
  u.ctx.restore();
}

/** Something that happened, at a time in seconds. */
export interface Note {
  at: number;
  text: string;
}

/** Dotted lines at the times of what happened, their words above, each where there is room for it. */
export function noted(u: uPlot, notes: Note[], ink: string): void {
  const pixel = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.font = `${12 * pixel}px sans-serif`;
  u.ctx.lineWidth = pixel;
  let free = left;
  for (const { at, text } of [...notes].sort((a, b) => a.at - b.at)) {
    const x = Math.round(u.valToPos(at, 'x', true)) + 0.5;
    if (x < left || x > left + width) continue;
    u.ctx.strokeStyle = ink;
    u.ctx.setLineDash([pixel, 3 * pixel]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + height);
    u.ctx.stroke();
    const wide = u.ctx.measureText(text).width;
    const begin = Math.min(x - 4 * pixel, left + width - wide);
    if (begin < free) continue;
    u.ctx.fillStyle = ink;
    u.ctx.fillText(text, begin, top - 6 * pixel);
    free = begin + wide + 8 * pixel;
  }
  u.ctx.restore();
}
