// The conversion between the two forms of an event: core/v1 has the original names of the fields,
// events.k8s.io/v1 newer ones. The same object is served in both groups.

import type { Conversions } from '#api/machinery/scheme.ts';
import type { Event as CoreEvent } from '#api/groups/core/v1/types.ts';
import type { Immutable } from '#api/machinery/meta/v1/helpers.ts';
import type { Event } from './types.ts';

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

/** Converts without kind and apiVersion. */
function fromCore(event: Immutable<CoreEvent>): Draft<Immutable<Event>> {
  const {
    metadata,
    eventTime,
    series,
    reportingComponent,
    reportingInstance,
    action,
    reason,
    involvedObject,
    related,
    message,
    type,
  } = event;
  return dropUndefined({
    metadata,
    // An event in the older form may have no time; it is null in the newer one.
    eventTime: eventTime!,
    series:
      series === undefined
        ? undefined
        : { count: series.count ?? 0, lastObservedTime: series.lastObservedTime! },
    reportingController: reportingComponent || undefined,
    reportingInstance: reportingInstance || undefined,
    action,
    reason,
    regarding: involvedObject,
    related,
    note: message,
    type,
    deprecatedSource: event.source,
    deprecatedFirstTimestamp: event.firstTimestamp,
    deprecatedLastTimestamp: event.lastTimestamp,
    deprecatedCount: event.count,
  });
}

/** Converts without kind and apiVersion. */
export function toCore(event: Immutable<Event>): Draft<Immutable<CoreEvent>> {
  const {
    metadata,
    regarding,
    reason,
    note,
    type,
    eventTime,
    series,
    action,
    related,
    reportingController,
    reportingInstance,
  } = event;
  return dropUndefined({
    metadata,
    involvedObject: regarding,
    reason,
    message: note,
    source: event.deprecatedSource,
    firstTimestamp: event.deprecatedFirstTimestamp,
    lastTimestamp: event.deprecatedLastTimestamp,
    count: event.deprecatedCount,
    type,
    eventTime,
    series:
      series === undefined
        ? undefined
        : dropUndefined({
            count: series.count || undefined,
            lastObservedTime: series.lastObservedTime,
          }),
    action,
    related,
    reportingComponent: reportingController ?? '',
    reportingInstance: reportingInstance ?? '',
  });
}

/** Removes undefined fields: the normalized form. */
function dropUndefined<T extends object>(object: T): T {
  for (const key of Object.keys(object) as (keyof T)[])
    if (object[key] === undefined) delete object[key];
  return object;
}

/** The conversions between the two groups. */
export const conversions: Conversions = {
  v1: { 'events.k8s.io/v1': fromCore },
  'events.k8s.io/v1': { v1: toCore },
};
