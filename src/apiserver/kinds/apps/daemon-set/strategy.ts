// Daemon sets.

import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateDaemonSet,
  validateDaemonSetStatusUpdate,
  validateDaemonSetUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import { podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { initialTemplateGeneration, nextTemplateGeneration } from './template-generation.ts';

export type DaemonSet = Immutable<apps.DaemonSet>;

const TEMPLATE = new field.FieldPath('spec', 'template');
const NO_STATUS = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };

export const daemonSetStrategy: ResourceStrategy<DaemonSet> = {
  generation: true,
  prepareForCreate: (daemonSet) => initialTemplateGeneration(withEnabledTemplateFields({ ...daemonSet, status: NO_STATUS })),
  validate: (daemonSet) => validateDaemonSet(daemonSet),
  warningsOnCreate: ({ spec }) => podTemplateWarnings(spec.template, TEMPLATE),
  prepareForUpdate: (daemonSet, old) =>
    nextTemplateGeneration(withEnabledTemplateFields({ ...daemonSet, status: old.status }, old), old),
  validateUpdate: (daemonSet, old) => validateDaemonSetUpdate(daemonSet, old),
  warningsOnUpdate: ({ spec }, old) =>
    semanticEqual(spec.template, old.spec.template) ? [] : podTemplateWarnings(spec.template, TEMPLATE),
};

export const daemonSetStatusStrategy: SubresourceStrategy<DaemonSet> = {
  prepareForUpdate: (daemonSet, old) => nextTemplateGeneration({ ...daemonSet, spec: old.spec }, old),
  validateUpdate: (daemonSet, old) => validateDaemonSetStatusUpdate(daemonSet, old),
};
