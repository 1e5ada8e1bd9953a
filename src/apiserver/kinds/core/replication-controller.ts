// The resource replicationcontrollers.

import type * as core from '#api/groups/core/v1/index.ts';
import { replicationControllers } from '#api/groups/core/v1/index.ts';
import { validateReplicaCounts, validateReplicationController } from '#api/groups/core/v1/validation/index.ts';
import { podTemplateWarnings, resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import { selectorFromSet } from '#machinery/selectors/labels.ts';
import { replicationControllerTable } from '#apiserver/printers/workloads.ts';
import { withEnabledTemplateFields } from '../pod-template.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { scaleSubresource } from '../scale.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type ReplicationController = Immutable<core.ReplicationController>;

const TEMPLATE = new FieldPath('spec', 'template');

const templateWarnings = ({ template }: ReplicationController['spec']): string[] =>
  template === undefined ? [] : podTemplateWarnings(template, TEMPLATE);

export const replicationControllerStrategy: ResourceStrategy<ReplicationController> = {
  generation: true,
  // Before there was a choice, its pods outlived it.
  defaultGarbageCollection: 'orphan',
  prepareForCreate: (controller) => withEnabledTemplateFields({ ...controller, status: { replicas: 0 } }),
  validate: (controller) => validateReplicationController(controller),
  warningsOnCreate: ({ metadata, spec }) => [...resourceNameWarnings(metadata.name), ...templateWarnings(spec)],
  prepareForUpdate: (controller, old) => withEnabledTemplateFields({ ...controller, status: old.status }, old),
  validateUpdate: (controller, old) => validateReplicationController(controller, old),
  warningsOnUpdate: ({ metadata, spec }, old) => (metadata.generation === old.metadata.generation ? [] : templateWarnings(spec)),
  selectableFieldNames: ['status.replicas'],
  selectableFields: (controller) => ({ 'status.replicas': String(controller.status.replicas) }),
};

const replicationControllerStatusStrategy: SubresourceStrategy<ReplicationController> = {
  prepareForUpdate: (controller, old) => ({ ...controller, spec: old.spec }),
  validateUpdate: (controller) => validateReplicaCounts(controller.status),
};

export function replicationControllerResource(services: RegistryServices): Kind {
  const store = new ResourceStore<ReplicationController>({
    ...services,
    type: replicationControllers,
    strategy: replicationControllerStrategy,
  });
  return {
    type: replicationControllers,
    rest: store,
    table: replicationControllerTable,
    subresources: [
      {
        name: 'status',
        kind: { group: '', version: 'v1', kind: 'ReplicationController' },
        rest: store.view(replicationControllerStatusStrategy),
      },
      scaleSubresource(store, {
        specReplicas: (controller) => controller.spec.replicas,
        statusReplicas: (controller) => controller.status.replicas,
        selector: (controller) => selectorFromSet(controller.spec.selector).toString(),
        withReplicas: (controller, replicas) => ({ ...controller, spec: { ...controller.spec, replicas } }),
      }),
    ],
  };
}
