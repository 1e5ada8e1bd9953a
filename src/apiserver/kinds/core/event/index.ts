// The resource events of two groups: one storage, two forms. Events are removed after an hour, or as --event-ttl says.

import type * as core from '#api/groups/core/v1/index.ts';
import { events } from '#api/groups/core/v1/index.ts';
import type { Event as NewerEvent } from '#api/groups/events/v1/index.ts';
import { events as newerEvents } from '#api/groups/events/v1/index.ts';
import { fromCore, toCore } from '#api/groups/events/v1/conversion.ts';
import { validateNewerEvent, validateNewerEventUpdate } from '#api/groups/events/v1/validation.ts';
import { validateEvent } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { eventTable, newerEventTable } from '#apiserver/printers/event.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { versionView } from '#apiserver/registry/version-view.ts';

type Event = Immutable<core.Event>;

const DEFAULT_TTL_MS = 60 * 60 * 1000;

/** Fields that the newer form names otherwise, and how it names them. */
const NEWER_NAMES: readonly (readonly [newer: string, stored: string])[] = [
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
    (name) => [`regarding.${name}`, `involvedObject.${name}`] as const,
  ),
  ['reportingController', 'reportingComponent'],
];
const NEWER_FIELD_NAMES = [...NEWER_NAMES.map(([newer]) => newer), 'reason', 'type'];

export const eventStrategy: ResourceStrategy<Event> = {
  allowCreateOnUpdate: true,
  defaultGarbageCollection: 'unsupported',
  validateName: pathSegmentName,
  anyFinalizer: true,
  ttlMs: () => DEFAULT_TTL_MS,
  validate: (event) => validateEvent(event),
  validateUpdate: (event) => validateEvent(event),
  selectableFieldNames: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  selectableFields: (event) =>
    withNewerNames({
      'involvedObject.kind': event.involvedObject.kind ?? '',
      'involvedObject.namespace': event.involvedObject.namespace ?? '',
      'involvedObject.name': event.involvedObject.name ?? '',
      'involvedObject.uid': event.involvedObject.uid ?? '',
      'involvedObject.apiVersion': event.involvedObject.apiVersion ?? '',
      'involvedObject.resourceVersion': event.involvedObject.resourceVersion ?? '',
      'involvedObject.fieldPath': event.involvedObject.fieldPath ?? '',
      reason: event.reason ?? '',
      reportingComponent: event.reportingComponent ?? '',
      source: event.source?.component || (event.reportingComponent ?? ''),
      type: event.type ?? '',
    }),
};

function withNewerNames(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...fields, ...Object.fromEntries(NEWER_NAMES.map(([newer, stored]) => [newer, fields[stored] ?? ''])) };
}

const CORE = { group: '', version: 'v1', kind: 'Event' } as const;
const NEWER = { group: 'events.k8s.io', version: 'v1', kind: 'Event' } as const;

/** The same events are served in two groups. */
export function eventResources(services: RegistryServices): readonly Kind[] {
  const { eventTtlMs = DEFAULT_TTL_MS } = services;
  const strategy = { ...eventStrategy, ttlMs: () => eventTtlMs };
  const store = new ResourceStore<Event>({ ...services, type: events, strategy });
  const newer = versionView(store, {
    kind: NEWER,
    stored: CORE,
    fromStored: (event) => fromCore(event as Event),
    toStored: (event) => toCore(event as Immutable<NewerEvent>),
    selectableFieldNames: NEWER_FIELD_NAMES,
    validate: (event, old) =>
      old === undefined ? validateNewerEvent(event as Event) : validateNewerEventUpdate(event as Event, old as Event),
  });
  return [
    { type: events, rest: store, table: eventTable, otherVersions: [NEWER] },
    { type: newerEvents, rest: newer, table: newerEventTable, otherVersions: [CORE], storedKind: CORE },
  ];
}
