// The flows of a story at each node, in Equery: both ways, if it is known which way they go.

import { type Period, timeText } from '../explore/period';

const FIGURES = [
  'sum(total_count) as packets', 'sum(total_byte) as bytes', 'max(ploss_byte) as measured', 'sum(ploss_byte) as lost', 'sum(retrans_byte) as again', 'sum(unseen_byte) as unseen', 'min(rtt_min) as rtt',
];
const COUNTS = FIGURES.slice(0, 2);

const TURNED: [RegExp, string][] = [[/^src_/, 'dst_'], [/^dst_/, 'src_']];
const turned = (condition: string) => {
  const found = TURNED.find(([pattern]) => pattern.test(condition));
  return found ? condition.replace(found[0], found[1]) : condition;
};

export function pathText(conditions: string[], { start, end }: Period, hasLosses: boolean): string {
  const query = (name: string, own: string[]) =>
    [`${name}: select ${(hasLosses ? FIGURES : COUNTS).join(', ')}`, `    from '${timeText(start)}' to '${timeText(end)}'`, `    where ${own.join(', ')}`].join('\n') + ';\n';
  return [query('there', conditions), query('back', conditions.map(turned))].join('\n');
}

