// Names for what the API answers. `openapi.ts` is generated from its description: `npm run generate`.

import type { components } from './openapi';

type Schemas = components['schemas'];

/** RFC 3339 in UTC, with nanoseconds: such texts sort as their times do. */
export type Time = Schemas['Time'];
export type Integer = Schemas['Integer'];
export type Counters = Schemas['Counters'];
export type Span = Schemas['Span'];

export type Estimate = Schemas['Estimate'];
export type Heaviest = Schemas['Heaviest'];
export type Value = Schemas['Value'];
export type Column = Schemas['Column'];
export type Row = Schemas['Values'];
export type Answer = Schemas['Answer'];

/** An event; its story and its text are there unless a story lists it. */
export type Event = Schemas['Event'] & Partial<Schemas['StoredEvent']>;
/** A story, as lists and streams have it. */
export type Story = Pick<Schemas['StoryEntry'], 'id' | 'text'> & Partial<Schemas['StoryEntry']>;
/** Who has seen a story. */
export type Acknowledgement = Schemas['Acknowledgement'];
export type Capture = Schemas['Capture'];
export type WholeStory = Schemas['Story'];

export type Packets = Schemas['Packets'];
export type Node = Schemas['Node'];
export type Status = Schemas['Status'];
export type Session = Schemas['Session'];

export type Edge = Schemas['Edge'];
export type KeyState = Schemas['KeyState'];
export type Trigger = Schemas['Trigger'];
export type Query = Schemas['Query'];

export type Diagnostic = Schemas['Diagnostic'];
export type Checked = Schemas['Checked'];
export type Explained = Schemas['Explained'];
export type QueryItems = Schemas['QueryItems'];
export type Language = Schemas['Language'];
export type Word = Schemas['Word'];
export type Installed = Schemas['Installed'];
export type DryRun = Schemas['DryRun'];

export type Change = Schemas['Change'];
export type ChangeOfField = Schemas['ChangeOfField'];
export type ChangedGroup = Schemas['ChangedGroup'];

/** Nobody is told of a story for a time. */
export type Silence = Schemas['Silence'];
export type ListedSilence = Schemas['ListedSilence'];
