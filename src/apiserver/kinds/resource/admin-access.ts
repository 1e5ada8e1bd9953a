// Admin access to devices that are in use. Only objects in a namespace with the label for it may
// request it. The namespace is read before validation, since it is another object.

import type * as core from '#api/groups/core/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { Reservation } from '#apiserver/registry/strategy.ts';

const LABEL = 'resource.kubernetes.io/admin-access';
const MESSAGE = `admin access to devices requires the \`${LABEL}: true\` label on the containing namespace`;

interface Asking {
  readonly adminAccess?: boolean;
}

/**
 * The path of a claim's requests, also for a template. It lacks `exactly` and the template's spec,
 * as upstream.
 */
export const REQUESTS = field.path('spec', 'devices', 'requests');
export const RESULTS = field.path('status', 'allocation', 'devices', 'results');

/**
 * Rejects with Invalid if one of `asking` (the items at `at`) requests admin access and the
 * object's namespace does not have the label. The error includes the results of `validate`.
 */
export async function authorizeAdminAccess<T extends KubeObject>(
  find: Find,
  kind: GroupVersionKind,
  object: T,
  asking: readonly (Asking | undefined)[],
  at: FieldPath,
  validate: () => FieldErrorList,
): Promise<Reservation<T>> {
  const { name = '', namespace = '' } = object.metadata;
  const first = asking.findIndex((each) => each?.adminAccess === true);
  if (first >= 0) {
    const namespaceObject = await find<Immutable<core.Namespace>>('', 'namespaces', '', namespace);
    if (namespaceObject?.metadata.labels?.[LABEL] !== 'true') {
      throw apierrors.invalid(kind, name, [
        field.forbidden(at.index(first).child('adminAccess'), MESSAGE),
        ...validate(),
      ]);
    }
  }
  return { object, commit() {}, rollback() {} };
}
