// The resource podtemplates.

import { podTemplates } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { validatePodTemplate } from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabels } from '#machinery/selectors/labels.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { NAME, column, containerCells } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { withoutDisabledFields } from '../pod-template.ts';

type PodTemplate = Immutable<core.PodTemplate>;

const TEMPLATE = new FieldPath('template');

const podTemplateStrategy: ResourceStrategy<PodTemplate> = {
  generation: true,
  returnDeletedObject: true,
  prepareForCreate: (podTemplate) => ({
    ...podTemplate,
    template: withoutDisabledFields(podTemplate.template),
  }),
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

const podTemplateTable: TableConvertor<PodTemplate> = {
  columns: [
    NAME,
    column('Containers', 'Names of the containers in the template.'),
    column('Images', 'Images of the containers in the template.'),
    column('Pod Labels', 'Labels of pods that are created from the template.'),
  ],
  cells: ({ metadata, template }) => [
    metadata.name,
    ...containerCells(template.spec.containers),
    formatLabels(template.metadata.labels),
  ],
};

export const podTemplateKind = defineKind<PodTemplate>({
  type: podTemplates,
  strategy: podTemplateStrategy,
  table: podTemplateTable,
});
