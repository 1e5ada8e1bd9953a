// Validation of the newer form of events beyond the older one: an event has a time, and only its
// series changes. As in upstream, paths are those of the older form.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type * as core from '#api/groups/core/v1/types.ts';
import { immutable, invalidEach } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Event = Immutable<core.Event>;

const UNSET = 'needs to be unset';
const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
] as const;

/** Validates an event in its stored form. */
export function validateNewerEvent(event: Event): FieldErrorList {
  const { eventTime, type = '', firstTimestamp, lastTimestamp, count = 0, source = {} } = event;
  const { name = '' } = event.metadata;
  const errors = [
    ...invalidEach(field.path('metadata', 'name'), name, validation.isDNS1123Subdomain(name)),
    ...series(event),
  ];
  if (eventTime === undefined || eventTime === null)
    errors.push(field.required(field.path('eventTime')));
  if (type !== 'Normal' && type !== 'Warning')
    errors.push(field.invalid(field.path('type'), '', `has invalid value: ${type}`));
  if (firstTimestamp !== undefined && firstTimestamp !== null) {
    errors.push(field.invalid(field.path('firstTimestamp'), '', UNSET));
  }
  if (lastTimestamp !== undefined && lastTimestamp !== null)
    errors.push(field.invalid(field.path('lastTimestamp'), '', UNSET));
  if (count !== 0) errors.push(field.invalid(field.path('count'), '', UNSET));
  if ((source.component ?? '') !== '' || (source.host ?? '') !== '')
    errors.push(field.invalid(field.path('source'), '', UNSET));
  return errors;
}

export function validateNewerEventUpdate(event: Event, old: Event): FieldErrorList {
  return [
    ...(semanticEqual(event.series, old.series) ? [] : series(event)),
    ...FIXED.flatMap((name) =>
      immutable(event[name] ?? null, old[name] ?? null, field.path(name), semanticEqual),
    ),
    ...immutable(
      event.reportingComponent ?? '',
      old.reportingComponent ?? '',
      field.path('reportingController'),
      Object.is,
    ),
    ...immutable(
      event.reportingInstance ?? '',
      old.reportingInstance ?? '',
      field.path('reportingInstance'),
      Object.is,
    ),
  ];
}

function series({ series: repeated }: Event): FieldErrorList {
  if (repeated === undefined) return [];
  const errors: FieldErrorList = [];
  if ((repeated.count ?? 0) < 2)
    errors.push(field.invalid(field.path('series', 'count'), '', 'should be at least 2'));
  if (repeated.lastObservedTime === undefined || repeated.lastObservedTime === null) {
    errors.push(field.required(field.path('series', 'lastObservedTime')));
  }
  return errors;
}
