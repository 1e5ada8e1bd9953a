// The resource prioritylevelconfigurations.

import { priorityLevelConfigurations } from '#api/groups/flowcontrol/v1/index.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import {
  validateFlowControlStatus,
  validatePriorityLevelConfiguration,
} from '#api/groups/flowcontrol/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type PriorityLevelConfiguration = Immutable<flowcontrol.PriorityLevelConfiguration>;

const priorityLevelConfigurationStrategy: ResourceStrategy<PriorityLevelConfiguration> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validate: (object) => validatePriorityLevelConfiguration(object),
  prepareForUpdate: (object, old) => ({ ...object, status: old.status }),
  validateUpdate: (object) => validatePriorityLevelConfiguration(object),
};

const priorityLevelConfigurationStatusStrategy: SubresourceStrategy<PriorityLevelConfiguration> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (object, old) => ({ ...withMetadataForStatus(object, old), spec: old.spec }),
  validateUpdate: (object) => validateFlowControlStatus(object),
};

const NONE = '<none>';

const priorityLevelConfigurationTable: TableConvertor<PriorityLevelConfiguration> = {
  columns: [
    NAME,
    column('Type', 'Limited or Exempt.'),
    column('NominalConcurrencyShares', 'The share of concurrent requests.'),
    column('Queues', 'Number of queues.'),
    column('HandSize', 'Number of queues that a flow may use.'),
    column('QueueLengthLimit', 'Maximum length of a queue.'),
    AGE,
  ],
  cells: ({ metadata, spec: { type, limited } }, now) => {
    const queuing = limited?.limitResponse.queuing;
    return [
      metadata.name,
      type,
      limited?.nominalConcurrencyShares ?? NONE,
      queuing?.queues ?? NONE,
      queuing?.handSize ?? NONE,
      queuing?.queueLengthLimit ?? NONE,
      since(metadata.creationTimestamp, now),
    ];
  },
};

export const priorityLevelConfigurationKind = defineKind<PriorityLevelConfiguration>({
  type: priorityLevelConfigurations,
  strategy: priorityLevelConfigurationStrategy,
  table: priorityLevelConfigurationTable,
  subresources: { status: { strategy: priorityLevelConfigurationStatusStrategy } },
});
