// What all kinds that make pods from a template do with it.

import { withoutDisabledPodFields } from '#api/groups/core/v1/disabled-pod-fields.ts';
import type { PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Template = Immutable<PodTemplateSpec>;

interface FromTemplate {
  readonly spec: { readonly template?: Template | undefined };
}

/** Answers the same template if there is nothing to drop. */
export function withoutDisabledFields(template: Template, old?: Template): Template {
  const spec = withoutDisabledPodFields(template.spec, old?.spec);
  return spec === template.spec ? template : { ...template, spec };
}

/** Of the template in the object's spec. `old`: as it is stored. */
export function withEnabledTemplateFields<T extends FromTemplate>(object: T, old?: T): T {
  const { template } = object.spec;
  if (template === undefined) return object;
  const enabled = withoutDisabledFields(template, old?.spec.template);
  return enabled === template ? object : { ...object, spec: { ...object.spec, template: enabled } };
}
