// Parts that the definitions of snapshots and of groups of snapshots share.

import type { CustomResourceDefinition } from '#api/groups/apiextensions/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';

export const text = { type: 'string' } as const;
export const time = { type: 'string', format: 'date-time' } as const;
export const deletionPolicy = { type: 'string', enum: ['Delete', 'Retain'] } as const;
export const error = { type: 'object', properties: { message: text, time } } as const;

/** The fields of a reference from a content to its snapshot. */
export const reference = {
  apiVersion: text,
  kind: text,
  name: text,
  namespace: text,
  uid: text,
  fieldPath: text,
  resourceVersion: text,
} as const;

/** Returns a column of tables. */
export const column = (name: string, type: string, jsonPath: string) => ({ name, type, jsonPath });

/** The columns of classes. */
export const classColumns = [
  column('Driver', 'string', '.driver'),
  column('DeletionPolicy', 'string', '.deletionPolicy'),
  column('Age', 'date', '.metadata.creationTimestamp'),
];

/**
 * Returns the definitions with the annotation that groups of *.k8s.io need. `pullRequest`: the
 * number of upstream's pull request that defined them.
 */
export function approved(
  kinds: readonly { readonly definition: New<CustomResourceDefinition> }[],
  pullRequest: number,
): readonly New<CustomResourceDefinition>[] {
  return kinds.map(({ definition }) => ({
    ...definition,
    metadata: {
      ...definition.metadata,
      annotations: {
        'api-approved.kubernetes.io': `https://github.com/kubernetes-csi/external-snapshotter/pull/${pullRequest}`,
      },
    },
  }));
}
