// Writes src/map/land.ts: the outlines of the continents, of Natural Earth (public domain), as the path of a picture.
//
//   node map/outline.mjs [--check]
//
// Longitude goes to the right and latitude up, a degree is a unit (an equirectangular projection). What is smaller than a tenth of a degree, and
// islands of less than a square degree, are left out. --check: fails if the file is another one.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const OUT = fileURLToPath(new URL('../src/map/land.ts', import.meta.url));
const [NORTH, SOUTH] = [84, -58];
const [LEAST_STEP, LEAST_AREA] = [0.3, 1];

const { arcs, transform, objects } = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('world-atlas/land-110m.json'), 'utf8'));

/** An arc of TopoJSON as degrees: its points are differences. */
const points = arcs.map((arc) => {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    [x, y] = [x + dx, y + dy];
    return [x * transform.scale[0] + transform.translate[0], y * transform.scale[1] + transform.translate[1]];
  });
});
/** A ring of arcs; one with a negative number goes backwards. */
const ring = (indices) => indices.flatMap((index) => (index < 0 ? [...points[~index]].reverse() : points[index]));
const area = (ring) => Math.abs(ring.reduce((sum, [x, y], at) => sum + x * ring[(at + 1) % ring.length][1] - y * ring[(at + 1) % ring.length][0], 0)) / 2;

/** Points that are hardly apart from the last one are left out. */
function thinned(ring) {
  const kept = [ring[0]];
  for (const point of ring.slice(1)) {
    const [x, y] = kept.at(-1);
    if (Math.hypot(point[0] - x, point[1] - y) >= LEAST_STEP) kept.push(point);
  }
  return kept;
}

/** Where a ring crosses the 180th meridian it goes on beyond it: who draws it does so again, a turn to the left and to the right. */
function unrolled(ring) {
  let by = 0;
  return ring.map(([x, y], at) => {
    if (at > 0) by += x - ring[at - 1][0] > 180 ? -360 : x - ring[at - 1][0] < -180 ? 360 : 0;
    return [x + by, y];
  });
}

const number = (of) => String(Math.round(of * 10) / 10);
const path = objects.land.geometries
  .flatMap(({ type, arcs }) => (type === 'Polygon' ? [arcs] : arcs))
  .map((rings) => unrolled(ring(rings[0])))
  .filter((ring) => area(ring) >= LEAST_AREA && ring.some(([, y]) => y > SOUTH))
  .map((ring) => `M${thinned(ring).map(([x, y]) => `${number(x)} ${number(-Math.max(SOUTH, Math.min(NORTH, y)))}`).join('L')}Z`)
  .join('');

const text = `// Written by map/outline.mjs of Natural Earth's outlines (public domain).

/** Land, a degree a unit: the longitude to the right, the latitude up (negative numbers). */
export const LAND =
  '${path}';

/** Latitudes of the upper and the lower end. */
export const [NORTH, SOUTH] = [${NORTH}, ${SOUTH}];
`;
if (process.argv.includes('--check')) {
  if (readFileSync(OUT, 'utf8') !== text) {
    console.error('src/map/land.ts is not what map/outline.mjs writes: npm run map');
    process.exit(1);
  }
} else writeFileSync(OUT, text);
