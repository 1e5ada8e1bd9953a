// The writes of the controllers, as patches: the roles that drivers publish for their sidecars allow
// no updates. Each patch names the version that was read, so a stale one fails with a conflict.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '#api/groups/core/v1/index.ts';
import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createMergePatch } from '#machinery/patch/merge-patch.ts';

export const MERGE_PATCH = 'application/merge-patch+json';

/** Returns the patch that replaces the finalizers of an object. */
export function finalizersPatch(
  { metadata }: { readonly metadata: Immutable<ObjectMeta> },
  finalizers: readonly string[],
): object {
  return { metadata: { resourceVersion: metadata.resourceVersion, finalizers } };
}

/** Returns the patch that makes one status of the other. */
export const statusPatch = (before: unknown, after: unknown): object =>
  createMergePatch({ status: before }, { status: after }) ?? {};

/** Writes the status of a claim. Returns the claim itself, and writes nothing, if it has it already. */
export async function writeClaimStatus(
  client: Client,
  claim: Immutable<PersistentVolumeClaim>,
  status: Immutable<PersistentVolumeClaim>['status'],
  signal: AbortSignal,
): Promise<Immutable<PersistentVolumeClaim>> {
  const { name, namespace = '', resourceVersion } = claim.metadata;
  const patch = statusPatch(claim.status, status);
  if (Object.keys(patch).length === 0) return claim;
  return await client
    .resource(persistentVolumeClaims)
    .namespace(namespace)
    .patch(
      name,
      MERGE_PATCH,
      { metadata: { resourceVersion }, ...patch },
      { subresource: 'status', signal },
    );
}
