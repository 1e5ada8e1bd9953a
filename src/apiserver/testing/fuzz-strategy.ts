// Whatever a decoder lets through, a strategy answers: it finds errors, and never fails itself. For tests.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { expect } from 'vitest';

import { decodeObject } from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { messageDescriptor } from '#api/machinery/schema/compile.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { TableConvertor } from '../tables/table.ts';
import type { ResourceStrategy, StrategyContext, SubresourceStrategy } from '../registry/strategy.ts';

const FILLS = 100;
const scheme = newDefaultScheme();
const context: StrategyContext = {
  request: { user: { name: 'u', groups: [] }, namespace: 'default', signal: new AbortController().signal, warnings: [] },
  now: 0,
  dryRun: false,
};

/** As the store hands it on: created, or there before. */
function named<T extends KubeObject>(object: T): T {
  const { name = 'n', uid = 'u' } = object.metadata as { readonly name?: string; readonly uid?: string };
  return { ...object, metadata: { ...object.metadata, name, uid } };
}

/** That a name is missing is found together with everything else. */
function unnamed<T extends KubeObject>(object: T): T {
  const { name: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Creates and updates filled objects of a type ('apps/v1.Deployment'); answers how many errors were found in all. */
export function exerciseStrategy<T extends KubeObject>(
  key: string,
  strategy: ResourceStrategy<T>,
  status: SubresourceStrategy<T> | undefined,
  table: TableConvertor<T> | undefined,
): number {
  const message = messageDescriptor(key);
  const { gvk } = message;
  if (gvk === undefined) throw new Error(`${key} is no kind`);
  const random = new SeededRandom(key);
  const fill = (): T => {
    const { object } = decodeObject<T & object>(message, fuzzObject(message, random));
    scheme.applyDefaults(gvk, object);
    return deepFreeze(object);
  };
  let errors = 0;
  for (let round = 0; round < FILLS; round++) {
    const old = named(fill());
    const object = named(fill());
    strategy.validate(strategy.prepareForCreate?.(unnamed(object), context) ?? object, context);
    const created = strategy.prepareForCreate?.(object, context) ?? object;
    errors += strategy.validate(created, context).length;
    strategy.warningsOnCreate?.(created, context);
    for (const update of [strategy, status]) {
      if (update === undefined) continue;
      const updated = update.prepareForUpdate?.(object, old, context) ?? object;
      errors += update.validateUpdate(updated, old, context).length;
      update.warningsOnUpdate?.(updated, old, context);
    }
    if (table !== undefined) expect(table.cells(created, context.now)).toHaveLength(table.columns.length);
  }
  return errors;
}
