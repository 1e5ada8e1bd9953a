// The resource flowschemas.

import { flowSchemas } from '#api/groups/flowcontrol/v1/index.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import {
  validateFlowControlStatus,
  validateFlowSchema,
} from '#api/groups/flowcontrol/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type FlowSchema = Immutable<flowcontrol.FlowSchema>;

const flowSchemaStrategy: ResourceStrategy<FlowSchema> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validate: (object) => validateFlowSchema(object),
  prepareForUpdate: (object, old) => ({ ...object, status: old.status }),
  validateUpdate: (object) => validateFlowSchema(object),
};

const flowSchemaStatusStrategy: SubresourceStrategy<FlowSchema> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (object, old) => ({ ...withMetadataForStatus(object, old), spec: old.spec }),
  validateUpdate: (object) => validateFlowControlStatus(object),
};

const NONE = '<none>';

const flowSchemaTable: TableConvertor<FlowSchema> = {
  columns: [
    NAME,
    column('PriorityLevel', 'The priority level of matching requests.'),
    column('MatchingPrecedence', 'The order of matching, from the lowest number.'),
    column('DistinguisherMethod', 'The attribute by which requests are divided into flows.'),
    AGE,
    column('MissingPL', 'Whether its priority level does not exist.'),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.priorityLevelConfiguration.name,
    spec.matchingPrecedence,
    spec.distinguisherMethod?.type ?? NONE,
    since(metadata.creationTimestamp, now),
    status.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
  ],
  compare: (a, b) => a.spec.matchingPrecedence - b.spec.matchingPrecedence || byName(a, b),
};

function byName(a: FlowSchema, b: FlowSchema): number {
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

export const flowSchemaKind = defineKind<FlowSchema>({
  type: flowSchemas,
  strategy: flowSchemaStrategy,
  table: flowSchemaTable,
  subresources: { status: { strategy: flowSchemaStatusStrategy } },
});
