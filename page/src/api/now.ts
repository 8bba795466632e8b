// What `GET /now` and `GET /unusual` answer.

import type { Counters, Integer, Span, Time, Value } from './types';

/** A number, one with bounds, or null where it is not known. */
export type Figure = Integer | { value: Integer; lower: Integer | null; upper: Integer | null } | null;

export const RANKINGS = ['source', 'destination', 'conversation', 'port', 'protocol'] as const;
export type RankingBy = (typeof RANKINGS)[number];

export interface Figures {
  bytes: Figure;
  packets: Figure;
  flows: Figure;
  lost: Figure;
  coverage: number | null;
  tcp_bytes: Figure;
  tcp_lost_bytes: Figure;
  watched_ns: Integer;
}

export interface Latest extends Figures {
  window: Span;
}

/** Of each step a figure. */
export interface Series {
  bytes: Figure[];
  packets: Figure[];
  flows: Figure[];
  lost: Figure[];
  coverage: (number | null)[];
  tcp_bytes: Figure[];
  tcp_lost_bytes: Figure[];
  watched_ns: Integer[];
}

export interface Leader {
  key: Record<string, Value>;
  bytes: Figure;
  packets: Figure;
  share: number | null;
  bytes_before: Figure;
  change: number | null;
  series: Figure[];
}

export interface NowRanking {
  by: RankingBy;
  key: string[];
  groups: Figure;
  rows: Leader[];
  rest: Omit<Leader, 'key'> | null;
  /** The reason why this ranking is not here. */
  refused: string | null;
}

export interface Hole extends Span {
  reason: string;
  node: string | null;
}

export interface Now {
  period: Span | null;
  before: Span | null;
  step_ns: Integer;
  steps: number;
  kind: 'live' | 'capture';
  /** The last step is still open: its sums are those so far. */
  open?: boolean;
  ended: boolean;
  nodes: string[];
  figures: Figures;
  figures_before: Figures | null;
  latest: Latest | null;
  latest_before: Latest | null;
  series: Series;
  series_before: Series | null;
  rankings: NowRanking[];
  account: { received: Integer; measured: Integer; not_measured: Counters; lost: Counters | null; coverage: number | null };
  missing: Hole[];
  partial: Hole[];
}

export interface Rule {
  rule: string;
  title: string;
  state: 'watched' | 'learning' | 'not_watched';
  reason: string | null;
  threshold: string;
}

export interface Measured {
  name: string;
  unit: string;
  value: Figure;
}

export interface Entry {
  id: string;
  rule: string;
  node: string | null;
  by: RankingBy | 'flow' | 'node';
  key: Record<string, Value>;
  since: Time;
  until: Time | null;
  window: Span;
  figure: Measured;
  figures: Measured[];
  text: string;
}

export interface Unusual {
  at: Time | null;
  period: Span | null;
  rules: Rule[];
  entries: Entry[];
  entries_unlisted: Integer;
}
