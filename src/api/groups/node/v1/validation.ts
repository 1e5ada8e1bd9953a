// Validation of runtime classes. Messages and paths are upstream's (pkg/apis/node/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { overhead } from '#api/groups/core/v1/validation/resources.ts';
import { tolerations } from '#api/groups/core/v1/validation/scheduling.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as node from './types.ts';

type RuntimeClass = Immutable<node.RuntimeClass>;

export function validateRuntimeClass({
  handler,
  overhead: needs,
  scheduling,
}: RuntimeClass): FieldErrorList {
  const at = field.path('handler');
  const errors =
    handler === ''
      ? [field.required(at)]
      : invalidEach(at, handler, validation.isDNS1123Label(handler));
  if (needs !== undefined) errors.push(...overhead(needs.podFixed, field.path('overhead')));
  if (scheduling === undefined) return errors;
  const place = field.path('scheduling');
  errors.push(...validation.validateLabels(scheduling.nodeSelector, place.child('nodeSelector')));
  const list = scheduling.tolerations ?? [];
  errors.push(...tolerations(list, place.child('tolerations')));
  const seen = new Set<string>();
  list.forEach((toleration, index) => {
    const { key, operator, value, effect } = toleration;
    const text = JSON.stringify([key ?? '', operator ?? '', value ?? '', effect ?? '']);
    if (seen.has(text))
      errors.push(field.duplicate(place.child('tolerations').index(index), toleration));
    seen.add(text);
  });
  return errors;
}

export function validateRuntimeClassUpdate(
  runtimeClass: RuntimeClass,
  old: RuntimeClass,
): FieldErrorList {
  return immutable(runtimeClass.handler, old.handler, field.path('handler'), Object.is);
}
