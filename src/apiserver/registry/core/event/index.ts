// The resource events. They go by themselves after an hour.

import type * as core from '../../../../api/core/v1/index.ts';
import { events } from '../../../../api/core/v1/index.ts';
import { validateEvent } from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { eventTable } from '../../../printers/event.ts';
import { pathSegmentName } from '../../metadata-validation.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type Event = Immutable<core.Event>;

const TTL_MS = 60 * 60 * 1000;

export const eventStrategy: ResourceStrategy<Event> = {
  allowCreateOnUpdate: true,
  defaultGarbageCollection: 'unsupported',
  validateName: pathSegmentName,
  ttlMs: () => TTL_MS,
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
  selectableFields: (event) => ({
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

export function eventResource(services: RegistryServices): ServedResource {
  return {
    type: events,
    rest: new ResourceStore<Event>({ ...services, type: events, strategy: eventStrategy }),
    table: eventTable,
  };
}
