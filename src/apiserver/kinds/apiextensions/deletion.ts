// The beginning of a definition's deletion: the finalizer that keeps it until its objects are gone, and the condition that says so.

import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import { withCondition } from '#api/groups/apiextensions/v1/conditions.ts';
import { CLEANUP_FINALIZER } from '#api/groups/apiextensions/v1/finalizer.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { StrategyContext } from '#apiserver/registry/strategy.ts';

type CustomResourceDefinition = Immutable<apiextensions.CustomResourceDefinition>;

/** Returns the definition as it is stored when its deletion begins. `definition` is marked as being deleted already. */
export function withCleanupFinalizer(
  definition: CustomResourceDefinition,
  { now }: StrategyContext,
): CustomResourceDefinition {
  // Definitions have no grace period, and the beginning of their deletion does not count as a change of the desired state.
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
