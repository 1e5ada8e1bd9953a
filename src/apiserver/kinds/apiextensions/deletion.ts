// The start of a definition's deletion: it gets the finalizer that keeps it until its objects are
// deleted, and a condition.

import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import { withCondition } from '#api/groups/apiextensions/v1/conditions.ts';
import { CLEANUP_FINALIZER } from '#api/groups/apiextensions/v1/finalizer.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { StrategyContext } from '#apiserver/registry/strategy.ts';

type CustomResourceDefinition = Immutable<apiextensions.CustomResourceDefinition>;

/**
 * Returns the definition to store when its deletion starts. `definition` already has a
 * deletionTimestamp.
 */
export function withCleanupFinalizer(
  definition: CustomResourceDefinition,
  { now }: StrategyContext,
): CustomResourceDefinition {
  // Definitions have no grace period, and the start of their deletion does not change the
  // generation.
  const {
    deletionGracePeriodSeconds: _,
    generation = 1,
    finalizers = [],
    ...metadata
  } = definition.metadata;
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message:
      'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  } as const;
  return {
    ...definition,
    metadata: {
      ...metadata,
      generation: generation - 1,
      finalizers: finalizers.includes(CLEANUP_FINALIZER)
        ? finalizers
        : [...finalizers, CLEANUP_FINALIZER],
    },
    status: withCondition(definition.status, condition, now),
  };
}
