// What the controller answers. docs/report.md has answers, events and stories.

/** RFC 3339 in UTC, with nanoseconds: such texts sort as their times do. */
export type Time = string;
/** Beyond 2^53 integers are texts of digits. */
export type Integer = number | string;
export type Counters = Record<string, Integer>;

export interface Span {
  start: Time;
  end: Time;
}

export interface Estimate {
  value: Integer | null;
  lower: Integer | null;
  upper: Integer | null;
}

export interface Heaviest {
  top: { value: unknown; weight: Integer }[];
  rest: { values: Integer; weight: Integer };
}

export type Value = null | number | string | boolean | Estimate | Heaviest;

export interface Column {
  name: string;
  kind: string;
  unit: string;
}

export type Row = Record<string, Value>;

export interface Answer {
  query: string;
  node: string | null;
  /** What a firing pinned. */
  bound?: Record<string, Value>;
  bound_columns?: Column[];
  window: Span | null;
  status: 'complete' | 'partial' | 'cut';
  late?: boolean;
  revision?: Integer;
  watched?: Span;
  empty?: Integer;
  coverage: number | null;
  class: string;
  rows: Row[];
  rest: Record<string, Value>;
  bounds: string;
  columns: Column[];
  reason?: string;
}

export interface Event {
  event: string;
  kind: string;
  query: string;
  fired_by: string | null;
  key: Record<string, Value>;
  node: string | null;
  at: Time;
  window: Span | null;
  values: Record<string, Value>;
  threshold: number | null;
  late: boolean;
  coverage: number | null;
  parent: string | null;
  columns: Column[];
  story?: string | null;
  /** The event in words, where the server says it. */
  text?: string | null;
}

export interface Story {
  id: string;
  text: string;
  at?: Time;
  query?: string;
  node?: string | null;
}

export interface Capture {
  event: string;
  node: string;
  query: string;
  packets: Integer;
  bytes: Integer;
  dropped: Counters;
  /** Where the file is; null if it is not here, for this reason. */
  href: string | null;
  reason: string | null;
}

export interface WholeStory extends Story {
  events: Event[];
  events_unlisted?: Integer;
  captures?: Capture[];
}

export interface Packets {
  received: Integer;
  measured: Integer;
  not_measured: Counters;
}

export interface Node {
  name: string;
  state: string;
  seen: Time | null;
  coverage: number | null;
  window: Span | null;
  packets: Packets;
  loss: Counters | null;
  last: { packets: Packets; loss: Counters | null } | null;
  spool: { messages: Integer; bytes: Integer; shortened: Integer; dropped: Integer; unwritten: Integer; fault: string | null } | null;
  /** What it remembers. */
  store?: { files: Integer; bytes: Integer; lost: Integer; fault: string | null } | null;
  clock: { synchronised: boolean | null; max_error_ns: Integer | null; ahead_s?: number | null } | null;
  /** How busy it is. */
  load?: { busy: number | null; flows: Integer; most_flows: Integer } | null;
  tasks: { wanted: Integer; applied: Integer | null; refused: string | null } | null;
  version: string | null;
  sources: string[];
  /** Times in which no condition judges it. */
  gaps?: { start: Time; end: Time; reason: string }[];
  /** What came as its own and was not taken, by reason. */
  refused?: Counters;
}

export interface Status {
  mode: 'controller' | 'run';
  version: string;
  now: Time;
  started: Time;
  ended: boolean;
  sources: string[];
  broker: { state: string; since: Time; reason: string | null } | null;
  /** What became of messages to Kafka, where any are sent there. */
  kafka?: { delivered: number; bytes: number; again: number; lost: Counters; problems: Counters } | null;
  nodes: Node[];
  refused: Counters;
  /** Requests of clients, by reason. */
  refused_requests?: Counters;
  windows: Counters;
  notes: { at: Time; text: string }[];
  /** Time of the first and of the last frame, where the server says it. */
  span?: Span | null;
}

/** Who asks; the name is null where nobody is asked who he is. */
export interface Session {
  name: string | null;
  role: 'view' | 'run' | 'admin' | null;
}

export interface Edge {
  node: string | null;
  phase: string;
  keys: Integer;
  since: Time | null;
  /** When it may fire again, where the server says it. */
  until?: Time | null;
  event: string | null;
}

export interface Trigger {
  parent: string;
  condition: string;
  for_ns: Integer | null;
  run_ns: Integer | null;
  cooldown_ns: Integer | null;
  until: string | null;
  thresholds: { column: string; comparison: string; value: number }[];
  edges: Edge[];
}

export interface Query {
  name: string;
  text: string;
  file: string | null;
  class: string;
  nodes: string[];
  every_ns: Integer | null;
  over_ns: Integer | null;
  columns: Column[];
  state: string;
  runs: { start: Time; end: Time; cause: string }[];
  trigger: Trigger | null;
  /** It is exported as a metric. */
  metric?: boolean;
  /** Packets that it captures when it is started. */
  capture?: Integer;
  latest: Answer[];
}

export interface Diagnostic {
  severity?: string;
  message: string;
  line?: number;
  column?: number;
  help?: string | null;
}
