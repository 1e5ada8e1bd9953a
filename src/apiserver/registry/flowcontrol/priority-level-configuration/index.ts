// The resource prioritylevelconfigurations.

import { priorityLevelConfigurations } from '../../../../api/flowcontrol/v1/index.ts';
import type * as flowcontrol from '../../../../api/flowcontrol/v1/index.ts';
import { validatePriorityLevelConfiguration, validateFlowControlStatus } from '../../../../api/flowcontrol/v1/validation.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { priorityLevelConfigurationTable } from '../../../printers/flowcontrol.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import { withMetadataForStatus } from '../../status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';

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

export function priorityLevelConfigurationResource(services: RegistryServices): ServedResource {
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
