// Every type of events.k8s.io/v1: the only list of their fields. `npm run generate` makes types.ts
// and index.ts from it.

import {
  f,
  groupVersion,
  kind,
  message,
  optional,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('events.k8s.io', 'v1', 'io.k8s.api.events.v1', {
  Event: resource({ resource: 'events', scope: 'Namespaced', shortNames: ['ev'] }, () => [
    f('metadata', 1, 'meta/v1.ObjectMeta', optional),
    f('eventTime', 2, 'microTime'),
    f('series?', 3, '*EventSeries'),
    f('reportingController?', 4, 'string'),
    f('reportingInstance?', 5, 'string'),
    f('action?', 6, 'string'),
    f('reason?', 7, 'string'),
    f('regarding?', 8, 'core/v1.ObjectReference'),
    f('related?', 9, '*core/v1.ObjectReference'),
    f('note?', 10, 'string'),
    f('type?', 11, 'string'),
    f('deprecatedSource?', 12, 'core/v1.EventSource'),
    f('deprecatedFirstTimestamp?', 13, 'time'),
    f('deprecatedLastTimestamp?', 14, 'time'),
    f('deprecatedCount?', 15, 'int32'),
  ]),
  EventSeries: message(() => [f('count', 1, 'int32'), f('lastObservedTime', 2, 'microTime')]),
  EventList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]Event')]),
});
