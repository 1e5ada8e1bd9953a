// Validation of namespaces.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Namespace } from './types.ts';
import { invalidEach } from './common.ts';

const FINALIZERS = field.path('spec', 'finalizers');
/** Finalizers without a domain that the server itself uses. */
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  'kubernetes',
  'orphan',
  'foregroundDeletion',
]);

export function validateNamespace(namespace: Namespace): FieldErrorList {
  return (namespace.spec.finalizers ?? []).flatMap((finalizer) =>
    finalizerName(finalizer, FINALIZERS),
  );
}

export function validateNamespaceFinalizeUpdate(namespace: Namespace): FieldErrorList {
  return (namespace.spec.finalizers ?? []).flatMap((finalizer, index) =>
    finalizerName(finalizer, FINALIZERS.index(index)),
  );
}

function finalizerName(finalizer: string, at: FieldPath): FieldErrorList {
  const errors = invalidEach(at, finalizer, validation.isQualifiedName(finalizer));
  if (!finalizer.includes('/') && !STANDARD_FINALIZERS.has(finalizer)) {
    errors.push(
      field.invalid(
        at,
        finalizer,
        'name is neither a standard finalizer name nor is it fully qualified',
      ),
    );
  }
  return errors;
}

export function validateNamespaceStatusUpdate({ metadata, status }: Namespace): FieldErrorList {
  const at = field.path('status', 'Phase');
  const { phase = '' } = status;
  if (metadata.deletionTimestamp === undefined) {
    return phase === 'Active'
      ? []
      : [field.invalid(at, phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  if (phase === 'Terminating') return [];
  return [
    field.invalid(at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
  ];
}
