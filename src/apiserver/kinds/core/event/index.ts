// The resource events of two groups: the same objects in two forms, stored in the form of the core
// group. Events expire after an hour, or after --event-ttl.

import type * as core from '#api/groups/core/v1/index.ts';
import { events } from '#api/groups/core/v1/index.ts';
import type * as newer from '#api/groups/events/v1/index.ts';
import { events as newerEvents } from '#api/groups/events/v1/index.ts';
import { conversions, toCore } from '#api/groups/events/v1/conversion.ts';
import { validateNewerEvent, validateNewerEventUpdate } from '#api/groups/events/v1/validation.ts';
import { validateEvent } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { FieldDeclarations } from '#apiserver/registry/selectable-fields.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { eventTable, newerEventTable } from './table.ts';

type Event = Immutable<core.Event>;
type NewerEvent = Immutable<newer.Event>;

const DEFAULT_TTL_MS = 60 * 60 * 1000;

type Reference = Immutable<core.ObjectReference>;

const REFERENCE_FIELDS = [
  'kind',
  'namespace',
  'name',
  'uid',
  'apiVersion',
  'resourceVersion',
  'fieldPath',
] as const;

/**
 * Declares the selectable fields of an event's object, which the two forms have in differently
 * named members.
 */
function referenceFields<T>(
  name: string,
  referenceOf: (event: T) => Reference | undefined,
): FieldDeclarations<T> {
  return Object.fromEntries(
    REFERENCE_FIELDS.map((field) => [
      `${name}.${field}`,
      (event: T) => referenceOf(event)?.[field] ?? '',
    ]),
  );
}

const eventStrategy: ResourceStrategy<Event> = {
  allowCreateOnUpdate: true,
  defaultGarbageCollection: 'unsupported',
  listsKeepLimit: true,
  validateName: pathSegmentName,
  anyFinalizer: true,
  validate: (event) => validateEvent(event, 'reportingComponent'),
  validateUpdate: (event) => validateEvent(event, 'reportingComponent'),
};

const inCore = (event: NewerEvent): Event => ({
  kind: 'Event',
  apiVersion: 'v1',
  ...toCore(event),
});

/** The rules for the newer form: those of the core form, and stricter ones for its clients. */
const newerEventStrategy: ResourceStrategy<NewerEvent> = {
  allowCreateOnUpdate: true,
  defaultGarbageCollection: 'unsupported',
  listsKeepLimit: true,
  validateName: pathSegmentName,
  anyFinalizer: true,
  validate: (event) => {
    const coreEvent = inCore(event);
    return [...validateEvent(coreEvent, 'reportingController'), ...validateNewerEvent(coreEvent)];
  },
  validateUpdate: (event, old) => {
    const coreEvent = inCore(event);
    return [
      ...validateEvent(coreEvent, 'reportingController'),
      ...validateNewerEventUpdate(coreEvent, inCore(old)),
    ];
  },
};

const converter = functionConverter(conversions);

export interface EventServices extends StoreServices {
  /** The time to live of events, in ms. Default: an hour. */
  readonly eventTtlMs?: number;
}

export const eventKind = defineKind<Event, EventServices>({
  type: events,
  converter,
  otherVersions: [newerEvents],
  strategy: ({ eventTtlMs = DEFAULT_TTL_MS }) => ({ ...eventStrategy, ttlMs: () => eventTtlMs }),
  selectableFields: {
    ...referenceFields<Event>('involvedObject', ({ involvedObject }) => involvedObject),
    reason: ({ reason }) => reason ?? '',
    reportingComponent: ({ reportingComponent }) => reportingComponent ?? '',
    source: ({ source, reportingComponent }) => source?.component || (reportingComponent ?? ''),
    type: ({ type }) => type ?? '',
  },
  table: eventTable,
});

export const newerEventKind = defineKind<NewerEvent, EventServices>({
  type: newerEvents,
  storedType: events,
  converter,
  otherVersions: [events],
  strategy: ({ eventTtlMs = DEFAULT_TTL_MS }) => ({
    ...newerEventStrategy,
    ttlMs: () => eventTtlMs,
  }),
  selectableFields: {
    ...referenceFields<NewerEvent>('regarding', ({ regarding }) => regarding),
    reason: ({ reason }) => reason ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
  table: newerEventTable,
});
