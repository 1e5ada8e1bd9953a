// Helpers for all kinds with a pod template.

import { withoutDisabledPodFields } from '#api/groups/core/v1/disabled-pod-fields.ts';
import type { PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Template = Immutable<PodTemplateSpec>;

interface FromTemplate {
  readonly spec: { readonly template?: Template | undefined };
}

/** Returns the template without fields of disabled features; the same template if it has none. */
export function withoutDisabledFields(template: Template, old?: Template): Template {
  const spec = withoutDisabledPodFields(template.spec, old?.spec);
  return spec === template.spec ? template : { ...template, spec };
}

/**
 * Returns the object without fields of disabled features in its template. `old`: the stored object.
 */
export function withEnabledTemplateFields<T extends FromTemplate>(object: T, old?: T): T {
  const { template } = object.spec;
  if (template === undefined) return object;
  const enabled = withoutDisabledFields(template, old?.spec.template);
  return enabled === template ? object : { ...object, spec: { ...object.spec, template: enabled } };
}
