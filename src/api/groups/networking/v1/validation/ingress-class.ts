// Validation of ingress classes. Messages and paths are upstream's
// (pkg/apis/networking/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as networking from '../types.ts';
import { reference } from './ingress.ts';

type IngressClass = Immutable<networking.IngressClass>;
type Parameters = Immutable<networking.IngressClassParametersReference>;

const MAX_CONTROLLER_LENGTH = 250;

export function validateIngressClass({
  spec: { controller = '', parameters },
}: IngressClass): FieldErrorList {
  const at = field.path('spec', 'controller');
  return [
    ...(controller.length > MAX_CONTROLLER_LENGTH
      ? [field.tooLong(at, controller, MAX_CONTROLLER_LENGTH)]
      : []),
    ...validation.validateDomainPrefixedPath(controller, at),
    ...(parameters === undefined
      ? []
      : parametersReference(parameters, field.path('spec', 'parameters'))),
  ];
}

function parametersReference(parameters: Parameters, at: FieldPath): FieldErrorList {
  const { scope, namespace } = parameters;
  const errors = reference(parameters, at);
  const place = at.child('namespace');
  if (scope === null) {
    errors.push(field.required(at.child('scope')));
    return errors;
  }
  if (scope === 'Namespace') {
    if (namespace === undefined)
      errors.push(field.required(place, "`parameters.scope` is set to 'Namespace'"));
    else errors.push(...invalidEach(place, namespace, validation.isDNS1123Label(namespace)));
  } else if (scope === 'Cluster') {
    if (namespace !== undefined)
      errors.push(field.forbidden(place, "`parameters.scope` is set to 'Cluster'"));
  } else {
    errors.push(field.notSupported(at.child('scope'), scope, ['Cluster', 'Namespace']));
  }
  return errors;
}

export function validateIngressClassUpdate(
  ingressClass: IngressClass,
  old: IngressClass,
): FieldErrorList {
  return [
    ...immutable(
      ingressClass.spec.controller ?? '',
      old.spec.controller ?? '',
      field.path('spec', 'controller'),
      Object.is,
    ),
    ...validateIngressClass(ingressClass),
  ];
}
