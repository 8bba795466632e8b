// A month as a table of days, Mondays first.

import { zone } from '../words/time';
import { dayOf } from './moment';

export interface Day {
  /** Its begin, seconds since the epoch. */
  at: number;
  number: number;
  isOfMonth: boolean;
}

const parts = (at: number) => {
  const date = new Date(at * 1000);
  return zone.isLocal
    ? { year: date.getFullYear(), month: date.getMonth(), day: date.getDate(), weekday: date.getDay() }
    : { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate(), weekday: date.getUTCDay() };
};

/** The first day of the month of a time, some months from it. */
export function monthOf(at: number, months = 0): number {
  const { year, month } = parts(at);
  return zone.isLocal ? new Date(year, month + months, 1).getTime() / 1000 : Date.UTC(year, month + months, 1) / 1000;
}

const NAMES = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
export const WEEKDAYS = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];
export const monthName = (month: number) => `${NAMES[parts(month).month]} ${parts(month).year}`;

export function weeks(month: number): Day[][] {
  const before = (parts(month).weekday + 6) % 7;
  const own = parts(month).month;
  const days = Array.from({ length: 42 }, (_, at): Day => {
    const begin = dayOf(month, at - before);
    return { at: begin, number: parts(begin).day, isOfMonth: parts(begin).month === own };
  });
  return Array.from({ length: 6 }, (_, week) => days.slice(week * 7, week * 7 + 7)).filter((week) => week.some(({ isOfMonth }) => isOfMonth));
}
