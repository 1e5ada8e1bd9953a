// The resource namespaces.

import { namespaces } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validateNamespace,
  validateNamespaceFinalizeUpdate,
  validateNamespaceStatusUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { labelName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Namespace = Immutable<core.Namespace>;

const FINALIZER = 'kubernetes';
const NAME_LABEL = 'kubernetes.io/metadata.name';

/** Returns the namespace with its name as a label, so that it can be selected by name. */
function withNameLabel(namespace: Namespace): Namespace {
  const { metadata } = namespace;
  if (metadata.labels?.[NAME_LABEL] === metadata.name) return namespace;
  return {
    ...namespace,
    metadata: { ...metadata, labels: { ...metadata.labels, [NAME_LABEL]: metadata.name } },
  };
}

const namespaceStrategy: ResourceStrategy<Namespace> = {
  checksNameOnUpdate: true,
  validateName: labelName,
  prepareForCreate(namespace) {
    const finalizers = namespace.spec.finalizers ?? [];
    return withNameLabel({
      ...namespace,
      spec: {
        ...namespace.spec,
        finalizers: finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER],
      },
      status: { phase: 'Active' },
    });
  },
  validate: (namespace) => validateNamespace(namespace),
  prepareForUpdate: (namespace, old) =>
    withNameLabel({
      ...namespace,
      spec: { ...namespace.spec, finalizers: old.spec.finalizers },
      status: old.status,
    }),
  validateUpdate: (namespace) => validateNamespace(namespace),
  prepareForDelete(namespace) {
    const { deletionGracePeriodSeconds: _, ...metadata } = namespace.metadata;
    return { ...namespace, metadata, status: { ...namespace.status, phase: 'Terminating' } };
  },
  hasPendingFinalizers: (namespace) => (namespace.spec.finalizers ?? []).length > 0,
};

const namespaceStatusStrategy: SubresourceStrategy<Namespace> = {
  prepareForUpdate: (namespace, old) => ({ ...namespace, spec: old.spec }),
  validateUpdate: (namespace) => validateNamespaceStatusUpdate(namespace),
};

const namespaceFinalizeStrategy: SubresourceStrategy<Namespace> = {
  resetFields: [['status']],
  prepareForUpdate: (namespace, old) => ({ ...namespace, status: old.status }),
  validateUpdate: (namespace) => validateNamespaceFinalizeUpdate(namespace),
};

export const namespaceTable: TableConvertor<Namespace> = {
  columns: [NAME, column('Status', 'Active, or Terminating while its content is deleted.'), AGE],
  cells: (namespace, now) => [
    namespace.metadata.name,
    namespace.status.phase ?? '',
    since(namespace.metadata.creationTimestamp, now),
  ],
};

export const namespaceKind = defineKind<Namespace>({
  type: namespaces,
  strategy: namespaceStrategy,
  selectableFields: { 'status.phase': ({ status }) => status.phase ?? '' },
  table: namespaceTable,
  // Deleting all namespaces at once would be too easy a mistake.
  withoutVerbs: ['deleteCollection'],
  subresources: {
    status: { strategy: namespaceStatusStrategy },
    finalize: { strategy: namespaceFinalizeStrategy, withoutVerbs: ['get'] },
  },
});
