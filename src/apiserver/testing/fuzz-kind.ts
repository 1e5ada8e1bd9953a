// Applies the rules of a kind to random objects: they must find errors, and never fail themselves.
// For tests.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { expect } from 'vitest';

import { decodeObject } from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Kind } from '../catalog/kind.ts';
import type { StrategyContext, UpdateStrategy } from '../registry/strategy.ts';

const FILLS = 40;
const scheme = newDefaultScheme();
const context: StrategyContext = {
  request: {
    user: { name: 'u', groups: [] },
    namespace: 'default',
    signal: new AbortController().signal,
    warnings: [],
  },
  now: 0,
  dryRun: false,
};

/** Returns the object with a name and a UID, as the store passes it on. */
function named<T extends KubeObject>(object: T): T {
  const { name = 'n', uid = 'u' } = object.metadata as {
    readonly name?: string;
    readonly uid?: string;
  };
  return { ...object, metadata: { ...object.metadata, name, uid } };
}

/**
 * Returns the object without a name. Validation must report the missing name together with all
 * other errors.
 */
function unnamed<T extends KubeObject>(object: T): T {
  const { name: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * Creates and updates random objects of a kind, through each of its views. Returns the total number
 * of errors. Expects one cell for each column of its table, and string values of its selectable
 * fields.
 */
export function exerciseKind({
  type,
  strategy,
  selectableFields,
  subresources = [],
  table,
}: Kind): number {
  const { message } = allSchemas.lookup(type)!;
  const random = new SeededRandom(`${type.group}/${type.kind}`);
  const fill = (): KubeObject => {
    const { object } = decodeObject(message, fuzzObject(message, random));
    scheme.codecOf(type)?.applyDefaults(object);
    return deepFreeze(object as unknown as KubeObject);
  };
  const updates: readonly (UpdateStrategy<KubeObject> | undefined)[] = [
    strategy,
    ...subresources.map((view) => view.strategy),
  ];
  let errors = 0;
  for (let round = 0; round < FILLS; round++) {
    const old = named(fill());
    const object = named(fill());
    strategy?.validate(strategy.prepareForCreate?.(unnamed(object), context) ?? object, context);
    const created = strategy?.prepareForCreate?.(object, context) ?? object;
    errors += strategy?.validate(created, context).length ?? 0;
    strategy?.warningsOnCreate?.(created, context);
    for (const update of updates) {
      if (update === undefined) continue;
      const updated = update.prepareForUpdate?.(object, old, context) ?? object;
      errors += update.validateUpdate(updated, old, context).length;
      update.warningsOnUpdate?.(updated, old, context);
    }
    for (const name of selectableFields?.names ?? [])
      expect(selectableFields?.valueOf(created, name)).toBeTypeOf('string');
    if (table !== undefined)
      expect(table.cells(created, context.now)).toHaveLength(table.columns.length);
  }
  return errors;
}
