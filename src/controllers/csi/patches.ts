// The writes of the controllers, as patches: the roles that drivers publish for their sidecars allow
// no updates. Each patch names the version that was read, so a stale one fails with a conflict.

import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
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
