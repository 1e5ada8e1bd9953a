// The resource priorityclasses.

import { priorityClasses } from '#api/groups/scheduling/v1/index.ts';
import type * as scheduling from '#api/groups/scheduling/v1/index.ts';
import { SYSTEM_PRIORITY_CLASSES } from '#api/groups/scheduling/v1/system-classes.ts';
import {
  validatePriorityClass,
  validatePriorityClassUpdate,
} from '#api/groups/scheduling/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type PriorityClass = Immutable<scheduling.PriorityClass>;

const priorityClassStrategy: ResourceStrategy<PriorityClass> = {
  allowCreateOnUpdate: true,
  // The generation is set once and never changes.
  generation: () => false,
  validate: (priorityClass) => validatePriorityClass(priorityClass),
  validateUpdate: (priorityClass, old) => validatePriorityClassUpdate(priorityClass, old),
  validateDelete(name) {
    if (!SYSTEM_PRIORITY_CLASSES.some((system) => system.name === name)) return;
    throw apierrors.forbidden(
      priorityClasses,
      name,
      new Error('this is a system priority class and cannot be deleted'),
    );
  },
};

const priorityClassTable: TableConvertor<PriorityClass> = {
  columns: [
    NAME,
    column('Value', 'The priority of pods of the class.', { type: 'integer' }),
    column('Global-Default', 'Whether pods without a class have this one.', { type: 'boolean' }),
    AGE,
    column('PreemptionPolicy', 'Whether pods of the class preempt other pods.'),
  ],
  cells: ({ metadata, value, globalDefault = false, preemptionPolicy }, now) => [
    metadata.name,
    value,
    globalDefault,
    since(metadata.creationTimestamp, now),
    preemptionPolicy ?? '',
  ],
};

export const priorityClassKind = defineKind<PriorityClass>({
  type: priorityClasses,
  strategy: priorityClassStrategy,
  table: priorityClassTable,
});
