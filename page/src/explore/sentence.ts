// The answer in one sentence.

import type { Column, Span, Value } from '../api/types';
import { number, percent } from '../words/number';
import { milliseconds, time } from '../words/time';
import { value } from '../words/value';
import { changeCell } from './cells';
import type { Course } from './course';
import { amount, dimension, type Measure } from './measures';
import { periodWords, spaced, timeText } from './period';
import { isExact, share, type Range } from './range';
import type { Group, Ranking } from './ranking';
import { addsUp, type Question } from './text';

const columnOf = (ranking: Ranking, field: string): Column => ranking.columns.find(({ name }) => name === field) ?? { name: field, kind: 'text', unit: '' };

/** A value of a field as text. */
export const valueText = (of: Value, field: string, ranking: Ranking): string =>
  of === null ? 'none' : value(of, columnOf(ranking, field));

/** `at least 12.3 GB`, `about 12.3 GB`, `12.3 GB`. */
export function figureWords(figure: Range, unit: string): string {
  if (figure.value === null) return figure.lower === null ? 'an unknown amount' : `at least ${amount(figure.lower, unit)}`;
  const words = amount(figure.value, unit);
  if (isExact(figure)) return words;
  return figure.upper === null ? `at least ${words}` : `about ${words}`;
}

export function shareWords(part: Range, whole: Range): string | null {
  const found = share(part, whole);
  if (!found) return null;
  if (found.upper === null) return `${percent(found.value)} of what was seen`;
  const [lower, upper] = [percent(found.lower), percent(found.upper)];
  return lower === upper ? lower : `between ${lower} and ${upper}`;
}

/** In a column: `33.5–40.5 %` */
export function shareCell(part: Range, whole: Range): string {
  const found = share(part, whole);
  if (!found) return 'unknown';
  if (found.upper === null) return `about ${percent(found.value)}`;
  const [lower, upper] = [percent(found.lower), percent(found.upper)];
  return lower === upper ? lower : `${lower.replace(' %', '')}–${upper}`;
}

/** `10.0.0.7 port 80`, `sent`, ` to 10.0.0.9 by tcp`; `destination port 443`, `had` */
function subject(group: Group, of: Question, ranking: Ranking): { who: string; verb: string; to: string } {
  const text = (field: string) => valueText(group.key[of.fields.indexOf(field)], field, ranking);
  const base = (field: string) => of.fields.find((one) => one.split('/')[0] === field);
  const [source, destination] = [base('src_addr'), base('dst_addr')];
  const has = (field: string) => of.fields.includes(field);
  const isEnd = source ?? destination;
  const [sourcePort, destinationPort] = [has('src_port') && isEnd, has('dst_port') && isEnd];
  const isProtocol = has('protocol') && isEnd;
  const told = [source, destination, sourcePort && 'src_port', destinationPort && 'dst_port', isProtocol && 'protocol'];
  const named = of.fields.filter((field) => !told.includes(field)).map((field) => {
    const { name } = dimension(field);
    if (group.key[of.fields.indexOf(field)] === null) return `flows without ${name}`;
    return `${name} ${field === 'protocol' ? text(field).split(' ')[0] : text(field)}`;
  });
  if (of.isByNode && group.node !== null) {
    if (!source && !destination) return { who: group.node, verb: 'saw', to: named.length ? ` (${named.join(', ')})` : '' };
    named.push(`seen by ${group.node}`);
  }
  if (!source && !destination) return { who: named.join(', '), verb: 'had', to: '' };
  const end = (field: string, port: string | false | undefined, name: string) => `${text(field)}${port ? ` port ${text(name)}` : ''}`;
  const also = `${isProtocol ? ` by ${text('protocol').split(' ')[0]}` : ''}${named.length ? ` (${named.join(', ')})` : ''}`;
  const port = (which: string | false | undefined, word: string, name: string) => (which ? ` ${word} port ${text(name)}` : '');
  if (!source) return { who: end(destination!, destinationPort, 'dst_port'), verb: 'received', to: `${port(sourcePort, 'from', 'src_port')}${also}` };
  const to = destination ? ` to ${end(destination, destinationPort, 'dst_port')}` : port(destinationPort, 'to', 'dst_port');
  return { who: end(source, sourcePort, 'src_port'), verb: 'sent', to: `${to}${also}` };
}

/** Names stay as they are. */
const capital = (text: string) => text.replace(/^(source|destination|either|protocol|service|conversation|flows|at least|about|an unknown|lost|sent|missed)\b/, (word) => word.charAt(0).toUpperCase() + word.slice(1));

export function sentence(of: Question, ranking: Ranking, course: Course | null, now: string, isMeasured: boolean): string {
  const { measure, period } = of;
  const when = periodWords(of.from, of.to, period, now);
  const first = ranking.groups[0];
  const whole = `${figureWords(ranking.all, measure.unit)}${measure.suffix}`;
  if (!ranking.watched && !first) return ranking.isPartial ? `Nothing is known ${when}.` : `Nothing is remembered ${when}.`;
  if (!isMeasured && !ranking.isPartial) return `${capital(measure.name)} is not measured of these flows ${when}: TCP alone has it, on nodes that track losses.`;
  const nothing = `Nothing${ranking.isPartial ? ' of what was seen' : ''} ${measure.known ? `was ${measure.name}` : 'fitted'} ${when}.`;
  if (!first || first.figure.value === null) return nothing;
  if (!of.fields.length && !of.isByNode) {
    const figure = `${capital(figureWords(first.figure, measure.unit))}${measure.isSum ? measure.suffix : ` is the ${measure.name}`} ${when}`;
    return `${figure}${most(course, of, now)}.`;
  }
  const { who, verb, to } = subject(first, of, ranking);
  if (!addsUp(of)) {
    const figure = figureWords(first.figure, measure.unit);
    return measure.isSum ? capital(`${who} ${verb === 'had' || verb === 'saw' ? verb : `${verb} the most,`} ${figure}${measure.suffix}${to}, ${when}.`) : capital(`${who}${to} has ${measure.most} ${when}: ${figure}.`);
  }
  if (Number(first.figure.value) === 0) return measure.known ? nothing : `None has any ${measure.name} ${when}.`;
  const part = shareWords(first.figure, ranking.all);
  return capital(`${who} ${verb} ${part ? `${part}${part.endsWith('seen') ? ', ' : ' of '}${whole}` : figureWords(first.figure, measure.unit)}${to} ${when}.`);
}

/** When it was most. */
function most(course: Course | null, { measure, period }: Question, now: string): string {
  const figures = course?.lines[0]?.figures ?? [];
  const largest = figures.reduce((best, one, at) => (one && Number(one.value) > Number(figures[best]?.value ?? 0) ? at : best), -1);
  if (largest < 0 || !measure.isSum) return '';
  const { unit, by } = overTime(measure);
  const rate = amount(Number(figures[largest]!.value) * by, unit);
  return `; the most in ${spaced(period.every)} at ${time(timeText(course!.times[largest]), now)}, ${rate}`;
}

/** What a chart shows of a measure: bytes per second are bits per second, which are eight times as many. */
export function overTime({ unit, isRate }: Measure): { unit: string; by: number } {
  if (!isRate) return { unit, by: 1 };
  return unit === 'bytes' ? { unit: 'bit/s', by: 8 } : { unit: `${unit}/s`, by: 1 };
}

const lengthOf = ({ start, end }: Span) => (milliseconds(end) - milliseconds(start)) / 1000;

/** The seconds that were watched; those of the period where the answer does not say it. */
export const watchedFor = ({ period }: Question, watched: Span | null): number => (watched && lengthOf(watched) > 0 ? lengthOf(watched) : period.end - period.start);

/** Times that differ by less are as long as each other. */
const SAME_LENGTH = 0.001;

/** How much longer it was watched than the earlier time: 1 where sums are compared, as they are of times of the same length. */
export function longer(of: Question, ranking: Ranking, watchedBefore: Span | null): number {
  if (!of.measure.isSum || !of.measure.isRate || !watchedBefore || lengthOf(watchedBefore) <= 0) return 1;
  const per = watchedFor(of, ranking.watched) / lengthOf(watchedBefore);
  return Math.abs(per - 1) < SAME_LENGTH ? 1 : per;
}

/** All of it, on average and against before, and its exact total. */
export function all(of: Question, ranking: Ranking, before: Map<string, Range> | null, per = 1): string {
  const { measure } = of;
  const figure = ranking.all;
  if (!addsUp(of) || figure.value === null || Number(figure.value) === 0 || !measure.isRate) return '';
  const { unit, by } = overTime(measure);
  const watched = watchedFor(of, ranking.watched);
  const mean = watched > 0 ? `All: ${figure.upper === null ? 'at least ' : ''}${amount((Number(figure.value) * by) / watched, unit)} on average` : '';
  const change = before ? changeCell(figure, before.get('all'), per) : '';
  const against = change === '' || change === 'not known' ? '' : change === 'same' ? ', the same as before' : change === 'new' ? ', where nothing was before' : `, ${change} against before`;
  const total = isExact(figure) ? `The total is exact: ${number(figure.value)} ${measure.unit}.` : figure.upper === null ? `The total is at least ${number(figure.lower)} ${measure.unit}.` : `The total is between ${number(figure.lower)} and ${number(figure.upper)} ${measure.unit}.`;
  return `${mean ? `${mean}${against}. ` : ''}${total}`;
}
