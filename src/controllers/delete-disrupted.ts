// The deletion of a pod by a disruption.

import { type Pod, type PodCondition, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

/**
 * Adds the condition DisruptionTarget to the pod, then deletes it. Resolves to 'conflict' if the pod
 * has changed, or another one has its name: it has to be reconciled again.
 */
export async function deleteDisrupted(
  client: Client,
  { metadata: { name, namespace = '', uid } }: Immutable<Pod>,
  condition: Immutable<PodCondition>,
  signal: AbortSignal,
): Promise<'deleted' | 'gone' | 'conflict'> {
  const scoped = client.resource(pods).namespace(namespace);
  const patch = { metadata: { uid }, status: { conditions: [condition] } };
  try {
    await scoped.patch(name, 'application/strategic-merge-patch+json', patch, {
      subresource: 'status',
      signal,
    });
    await scoped.delete(name, { preconditions: { uid }, signal });
    return 'deleted';
  } catch (error) {
    if (apierrors.isConflict(error)) return 'conflict';
    if (apierrors.isNotFound(error)) return 'gone';
    throw error;
  }
}
