// Who may have a device although it is in use: whoever may write into a namespace that is marked for it. The mark is looked up before
// validation, as it lies in another object.

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

/** Of a claim or a template. That the path leaves out `exactly`, and where a template has its claim, is Kubernetes' own. */
export const REQUESTS = field.path('spec', 'devices', 'requests');
export const RESULTS = field.path('status', 'allocation', 'devices', 'results');

/**
 * Rejects with Invalid if one of `asking` (the items at `at`) wants admin access and the object's namespace is not marked; what else is
 * wrong with the object (`validate`) is told with it. Reserves nothing.
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
    const found = await find<Immutable<core.Namespace>>('', 'namespaces', '', namespace);
    if (found?.metadata.labels?.[LABEL] !== 'true') {
      throw apierrors.invalid(kind, name, [
        field.forbidden(at.index(first).child('adminAccess'), MESSAGE),
        ...validate(),
      ]);
    }
  }
  return { object, commit() {}, rollback() {} };
}
