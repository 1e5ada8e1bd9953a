// The resource flowschemas.

import { flowSchemas } from '#api/groups/flowcontrol/v1/index.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import { validateFlowSchema, validateFlowControlStatus } from '#api/groups/flowcontrol/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { flowSchemaTable } from '#apiserver/printers/flowcontrol.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type FlowSchema = Immutable<flowcontrol.FlowSchema>;

export const flowSchemaStrategy: ResourceStrategy<FlowSchema> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validate: (object) => validateFlowSchema(object),
  prepareForUpdate: (object, old) => ({ ...object, status: old.status }),
  validateUpdate: (object) => validateFlowSchema(object),
};

export const flowSchemaStatusStrategy: SubresourceStrategy<FlowSchema> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (object, old) => ({ ...withMetadataForStatus(object, old), spec: old.spec }),
  validateUpdate: (object) => validateFlowControlStatus(object),
};

export function flowSchemaResource(services: RegistryServices): Kind {
  const store = new ResourceStore<FlowSchema>({ ...services, type: flowSchemas, strategy: flowSchemaStrategy });
  const kind = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', kind: 'FlowSchema' };
  return {
    type: flowSchemas,
    rest: store,
    table: flowSchemaTable,
    subresources: [{ name: 'status', kind, rest: store.view(flowSchemaStatusStrategy) }],
  };
}
