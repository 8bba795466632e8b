// Short names for what `GET /now` and `GET /unusual` answer.

import type { components } from './openapi';
import type { Value } from './types';

type Schemas = components['schemas'];

/** A number, one with bounds, or null where it is not known. */
export type Figure = Value;

export type RankingBy = Schemas['RankingBy'];
export const RANKINGS: RankingBy[] = ['source', 'destination', 'conversation', 'port', 'protocol'];

export type Now = Schemas['Now'];
export type NowRanking = Schemas['NowRanking'];
export type Leader = Schemas['NowRow'];

export type Unusual = Schemas['Unusual'];
export type Entry = Schemas['UnusualEntry'];
export type Measured = Schemas['UnusualFigure'];
