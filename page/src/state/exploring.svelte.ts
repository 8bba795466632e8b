// A question in the making: first what has most, then how that went.

import type { Span } from '../api/types';
import { ask, type History } from '../explore/ask';
import { courseText, NAMES, rankingText, type Question } from '../explore/text';
import { course, type Course } from '../explore/course';
import { KNOWN } from '../explore/measures';
import { identity, isWatched, ranking, type Ranking, read, watchedOf, whole } from '../explore/ranking';
import { minus, plus, type Range, ZERO } from '../explore/range';
import { milliseconds } from '../words/time';
import { Asking } from './asking.svelte';

export interface Found {
  of: Question;
  ranking: Ranking;
  /** Not there yet, or not to be had. */
  course: Course | null;
  courseBefore: Course | null;
  /** Earlier figures, by group; also of `others` and `all`. */
  before: Map<string, Range> | null;
  /** Null where the time is not compared, or nothing of it is remembered. */
  watchedBefore: Span | null;
  /** Something of what is asked is measured at all. */
  isMeasured: boolean;
  text: string;
  said: History[];
}

export class Exploring extends Asking {
  found = $state.raw<Found | null>(null);

  ask(of: Question): Promise<void> {
    return this.during(async (signal) => {
      const first = rankingText(of);
      const said = await ask(first, signal).catch((error) => {
        // What was found before is no answer to this question.
        if (!signal.aborted) this.found = null;
        throw error;
      });
      if (signal.aborted) return;
      const named = (name: string) => said.answers.filter(({ query }) => query === name);
      const found = ranking(named(NAMES.top), of, named(NAMES.whole));
      const known = said.answers.filter(({ query }) => query === NAMES.known);
      const isMeasured = !of.measure.known || known.some(({ rows }) => (rows[0]?.[KNOWN] ?? null) !== null);
      const second = found.groups.length ? courseText(of, found.groups.map(({ key }) => key)) : null;
      const text = second === null ? first : `${first}\n${second}`;
      this.found = { of, ranking: found, course: null, courseBefore: null, before: null, watchedBefore: null, isMeasured, text, said: [said] };
      if (second === null) return;
      const more = await ask(second, signal);
      if (signal.aborted) return;
      const isCompared = of.earlier !== null;
      this.found = {
        ...this.found,
        course: course(more.answers, of, found.groups, false),
        courseBefore: isCompared ? course(more.answers, of, found.groups, true) : null,
        before: isCompared ? earlier(more, of, found) : null,
        watchedBefore: watchedOf(more.answers.filter(({ query }) => query === NAMES.topBefore)),
        said: [said, more],
      };
    });
  }
}

/** What the same groups had earlier; one without a row had nothing, where all was seen. */
function earlier({ answers }: History, of: Question, { groups }: Ranking): Map<string, Range> {
  const own = answers.filter((answer) => answer.query === NAMES.topBefore && isWatched(answer));
  const isWhole = own.length !== 0 && own.every(({ status }) => status !== 'partial');
  // What begins later is of less time.
  const seen = watchedOf(own);
  const missing = seen ? milliseconds(seen.start) / 1000 - (of.period.start - of.earlier!) : 0;
  const least = (figure: Range): Range => (missing > 2 * of.period.every && of.measure.isSum ? { ...figure, upper: null } : figure);
  const rows = new Map(own.flatMap((answer) => read(answer, of).groups).map((group) => [identity(group.node, group.key), group.figure]));
  const figures = new Map<string, Range>();
  for (const { node, key } of groups) {
    const found = rows.get(identity(node, key)) ?? (isWhole && of.measure.isSum ? ZERO : null);
    if (found) figures.set(identity(node, key), least(found));
  }
  const wholes = answers.filter((answer) => answer.query === NAMES.wholeBefore && isWatched(answer));
  if (wholes.length) {
    const all = least(wholes.map((answer) => whole(answer, of)).reduce(plus, ZERO));
    const named = [...figures.values()].reduce(plus, ZERO);
    figures.set('all', all);
    if (figures.size === groups.length + 1) figures.set('others', minus(all, named));
  }
  return figures;
}
