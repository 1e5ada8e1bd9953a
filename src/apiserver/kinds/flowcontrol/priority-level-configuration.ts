// The resource prioritylevelconfigurations.

import { priorityLevelConfigurations } from '#api/groups/flowcontrol/v1/index.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import { validatePriorityLevelConfiguration, validateFlowControlStatus } from '#api/groups/flowcontrol/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { priorityLevelConfigurationTable } from '#apiserver/printers/flowcontrol.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type PriorityLevelConfiguration = Immutable<flowcontrol.PriorityLevelConfiguration>;

export const priorityLevelConfigurationStrategy: ResourceStrategy<PriorityLevelConfiguration> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validate: (object) => validatePriorityLevelConfiguration(object),
  prepareForUpdate: (object, old) => ({ ...object, status: old.status }),
  validateUpdate: (object) => validatePriorityLevelConfiguration(object),
};

export const priorityLevelConfigurationStatusStrategy: SubresourceStrategy<PriorityLevelConfiguration> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (object, old) => ({ ...withMetadataForStatus(object, old), spec: old.spec }),
  validateUpdate: (object) => validateFlowControlStatus(object),
};

export function priorityLevelConfigurationResource(services: RegistryServices): Kind {
  const store = new ResourceStore<PriorityLevelConfiguration>({
    ...services,
    type: priorityLevelConfigurations,
    strategy: priorityLevelConfigurationStrategy,
  });
  const kind = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', kind: 'PriorityLevelConfiguration' };
  return {
    type: priorityLevelConfigurations,
    rest: store,
    table: priorityLevelConfigurationTable,
    subresources: [{ name: 'status', kind, rest: store.view(priorityLevelConfigurationStatusStrategy) }],
  };
}
