// The resource runtimeclasses.

import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import type * as node from '#api/groups/node/v1/index.ts';
import {
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from '#api/groups/node/v1/validation.ts';
import { runtimeClassWarnings } from '#api/groups/node/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type RuntimeClass = Immutable<node.RuntimeClass>;

const runtimeClassStrategy: ResourceStrategy<RuntimeClass> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (runtimeClass) => validateRuntimeClass(runtimeClass),
  validateUpdate: (runtimeClass, old) => [
    ...validateRuntimeClass(runtimeClass),
    ...validateRuntimeClassUpdate(runtimeClass, old),
  ],
  warningsOnCreate: (runtimeClass) => runtimeClassWarnings(runtimeClass),
  warningsOnUpdate: (runtimeClass) => runtimeClassWarnings(runtimeClass),
};

const runtimeClassTable: TableConvertor<RuntimeClass> = {
  columns: [NAME, column('Handler', 'The name of the handler in the container runtime.'), AGE],
  cells: ({ metadata, handler }, now) => [
    metadata.name,
    handler,
    since(metadata.creationTimestamp, now),
  ],
};

export const runtimeClassKind = defineKind<RuntimeClass>({
  type: runtimeClasses,
  strategy: runtimeClassStrategy,
  table: runtimeClassTable,
});
