// Comma-separated values (RFC 4180) that a spreadsheet does not take for formulas.

export type Cell = string | number | null | undefined;

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A text that a spreadsheet would compute has an apostrophe before it; numbers are numbers. */
export function cell(of: Cell): string {
  if (of === null || of === undefined) return '';
  const text = String(of);
  const safe = /^[\s]*[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n;]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csv = (rows: Cell[][]): string => rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
