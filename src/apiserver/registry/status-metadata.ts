import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// The metadata of a status update, which must not change the users' metadata.

/** Returns `object` with the labels, annotations, finalizers and owners of `old`. */
export function withMetadataForStatus<T extends KubeObject>(object: T, old: T): T {
  const {
    labels: _,
    annotations: __,
    finalizers: ___,
    ownerReferences: ____,
    ...rest
  } = object.metadata;
  const { labels, annotations, finalizers, ownerReferences } = old.metadata;
  return {
    ...object,
    metadata: {
      ...rest,
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
  };
}
