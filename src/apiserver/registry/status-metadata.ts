import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
// The metadata of an object whose status is written: of what users do to metadata, a status is not the place to change anything.

/** As `object`, but its labels, annotations, finalizers and owners are those of `old`. */
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
