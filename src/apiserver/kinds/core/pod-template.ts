// The resource podtemplates.

import type * as core from '#api/groups/core/v1/index.ts';
import { podTemplates } from '#api/groups/core/v1/index.ts';
import { validatePodTemplate } from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import { podTemplateTable } from '#apiserver/printers/quota.ts';
import { withoutDisabledFields } from '../pod-template.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type PodTemplate = Immutable<core.PodTemplate>;

const TEMPLATE = new FieldPath('template');

export const podTemplateStrategy: ResourceStrategy<PodTemplate> = {
  generation: true,
  returnDeletedObject: true,
  prepareForCreate: (podTemplate) => ({ ...podTemplate, template: withoutDisabledFields(podTemplate.template) }),
  prepareForUpdate: (podTemplate, old) => ({
    ...podTemplate,
    template: withoutDisabledFields(podTemplate.template, old.template),
  }),
  validate: ({ template }) => validatePodTemplate(template, TEMPLATE),
  warningsOnCreate: ({ template }) => podTemplateWarnings(template, TEMPLATE),
  validateUpdate: ({ template }, old) => validatePodTemplate(template, TEMPLATE, old.template),
  warningsOnUpdate: ({ metadata, template }, old) =>
    metadata.generation === old.metadata.generation ? [] : podTemplateWarnings(template, TEMPLATE),
};

export function podTemplateResource(services: RegistryServices): Kind {
  return {
    type: podTemplates,
    rest: new ResourceStore<PodTemplate>({ ...services, type: podTemplates, strategy: podTemplateStrategy }),
    table: podTemplateTable,
  };
}
