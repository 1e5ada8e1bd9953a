// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface Event extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  eventTime: string;
  series?: EventSeries;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding: core.ObjectReference;
  related?: core.ObjectReference;
  note?: string;
  type?: string;
  deprecatedSource: core.EventSource;
  deprecatedFirstTimestamp: string | null;
  deprecatedLastTimestamp: string | null;
  deprecatedCount?: number;
}

export interface EventSeries {
  count: number;
  lastObservedTime: string;
}

export interface EventList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Event[];
}
