// The resource podtemplates.

import type * as core from '../../../../api/core/v1/index.ts';
import { podTemplates } from '../../../../api/core/v1/index.ts';
import { validatePodTemplate } from '../../../../api/core/v1/validation/index.ts';
import { podTemplateWarnings } from '../../../../api/core/v1/warnings.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { FieldPath } from '../../../../machinery/field.ts';
import { podTemplateTable } from '../../../printers/quota.ts';
import { withoutDisabledFields } from '../../pod-template.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

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

export function podTemplateResource(services: RegistryServices): ServedResource {
  return {
    type: podTemplates,
    rest: new ResourceStore<PodTemplate>({ ...services, type: podTemplates, strategy: podTemplateStrategy }),
    table: podTemplateTable,
  };
}
