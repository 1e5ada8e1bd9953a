// Validation of events. Events without an eventTime have the older form, with fewer rules.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Event } from './types.ts';
import { invalidEach } from './common.ts';

const MAX_SHORT_LENGTH = 128;
const MAX_NOTE_LENGTH = 1024;

/** The name of the field `reportingComponent` in errors: each form has its own. */
export type ControllerField = 'reportingComponent' | 'reportingController';

/**
 * Validates an event. Its namespace is that of its object; for an object of the cluster it is
 * `default`. `controllerField`: depends on the form in which the client has sent the event.
 */
export function validateEvent(event: Event, controllerField: ControllerField): FieldErrorList {
  const { namespace = '' } = event.metadata;
  const about = event.involvedObject.namespace ?? '';
  const errors: FieldErrorList = [];
  const isNew = event.eventTime !== undefined && event.eventTime !== null;
  const matches =
    about === ''
      ? namespace === 'default' || namespace === (isNew ? 'kube-system' : '')
      : isNew || about === namespace;
  if (!matches) {
    errors.push(
      field.invalid(
        field.path('involvedObject', 'namespace'),
        about,
        'does not match event.namespace',
      ),
    );
  }
  if (isNew) errors.push(...newForm(event, controllerField));
  errors.push(
    ...invalidEach(field.path('namespace'), namespace, validation.isDNS1123Subdomain(namespace)),
  );
  return errors;
}

function newForm(event: Event, controllerField: ControllerField): FieldErrorList {
  const {
    reportingComponent = '',
    reportingInstance = '',
    action = '',
    reason = '',
    message = '',
  } = event;
  const controller = field.path(controllerField);
  return [
    ...(reportingComponent === '' ? [field.required(controller)] : []),
    ...invalidEach(controller, reportingComponent, validation.isQualifiedName(reportingComponent)),
    ...shortText('reportingInstance', reportingInstance),
    ...shortText('action', action),
    ...shortText('reason', reason),
    ...atMost('message', message, MAX_NOTE_LENGTH),
  ];
}

function shortText(name: string, value: string): FieldErrorList {
  return value === '' ? [field.required(field.path(name))] : atMost(name, value, MAX_SHORT_LENGTH);
}

function atMost(name: string, value: string, max: number): FieldErrorList {
  if (Buffer.byteLength(value) <= max) return [];
  return [field.invalid(field.path(name), '', `can have at most ${max} characters`)];
}
