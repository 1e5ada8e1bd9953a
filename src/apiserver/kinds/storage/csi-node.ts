// The resource csinodes.

import { csiNodes } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import { validateCSINode, validateCSINodeUpdate } from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type CSINode = Immutable<storage.CSINode>;

const csiNodeStrategy: ResourceStrategy<CSINode> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  allowUnconditionalUpdate: false,
  validate: (node) => validateCSINode(node),
  validateUpdate: (node, old) => validateCSINodeUpdate(node, old),
};

const csiNodeTable: TableConvertor<CSINode> = {
  columns: [NAME, column('Drivers', 'Number of drivers on the node.', { type: 'integer' }), AGE],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec.drivers ?? []).length,
    since(metadata.creationTimestamp, now),
  ],
};

export const csiNodeKind = defineKind<CSINode>({
  type: csiNodes,
  strategy: csiNodeStrategy,
  table: csiNodeTable,
});
