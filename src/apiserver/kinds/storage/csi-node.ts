// The resource csinodes.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { csiNodes } from '#api/groups/storage/v1/index.ts';
import { validateCSINode, validateCSINodeUpdate } from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { csiNodeTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type CSINode = Immutable<storage.CSINode>;

export const csiNodeStrategy: ResourceStrategy<CSINode> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  allowUnconditionalUpdate: false,
  validate: (node) => validateCSINode(node),
  validateUpdate: (node, old) => validateCSINodeUpdate(node, old),
};

export function csiNodeResource(services: RegistryServices): Kind {
  return {
    type: csiNodes,
    rest: new ResourceStore<CSINode>({ ...services, type: csiNodes, strategy: csiNodeStrategy }),
    table: csiNodeTable,
  };
}
