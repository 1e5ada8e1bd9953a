// Who may have a device although it is in use: whoever may write into a namespace that is marked for it. The mark is looked up before
// validation, as it lies in another object.

import type * as core from '../../../api/core/v1/index.ts';
import type { GroupVersionKind } from '../../../api/descriptor.ts';
import type { Immutable } from '../../../api/meta/v1/index.ts';
import type { KubeObject } from '../../../client/client.ts';
import * as apierrors from '../../../machinery/apierrors.ts';
import * as field from '../../../machinery/field.ts';
import type { Find } from '../find.ts';
import type { Reservation } from '../strategy.ts';

const LABEL = 'resource.kubernetes.io/admin-access';
const MESSAGE = `admin access to devices requires the \`${LABEL}: true\` label on the containing namespace`;

interface Asking {
  readonly adminAccess?: boolean;
}

/** Rejects with Invalid if one of `asking` wants admin access and the object's namespace is not marked. Reserves nothing else. */
export async function authorizeAdminAccess<T extends KubeObject>(
  find: Find,
  kind: GroupVersionKind,
  object: T,
  asking: readonly (Asking | undefined)[],
): Promise<Reservation<T>> {
  const { name = '', namespace = '' } = object.metadata;
  if (asking.some((each) => each?.adminAccess === true)) {
    const found = await find<Immutable<core.Namespace>>('', 'namespaces', '', namespace);
    if (found?.metadata.labels?.[LABEL] !== 'true') {
      throw apierrors.invalid(kind, name, [field.forbidden(field.path(''), MESSAGE)]);
    }
  }
  return { object, commit() {}, rollback() {} };
}
