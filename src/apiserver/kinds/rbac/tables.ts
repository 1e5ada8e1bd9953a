// The table of bindings. Roles have the default one.

import type * as rbac from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Binding = Immutable<rbac.RoleBinding | rbac.ClusterRoleBinding>;

/** The table of both kinds of bindings. */
export const roleBindingTable: TableConvertor<Binding> = {
  columns: [
    NAME,
    column('Role', 'The bound role.'),
    AGE,
    column('Users', 'Users that are bound to the role.', { wide: true }),
    column('Groups', 'Groups that are bound to the role.', { wide: true }),
    column('ServiceAccounts', 'Service accounts that are bound to the role.', { wide: true }),
  ],
  cells: ({ metadata, roleRef, subjects = [] }, now) => {
    const named = (kind: string): string =>
      subjects
        .filter((subject) => subject.kind === kind)
        .map(({ name, namespace = '' }) =>
          kind === 'ServiceAccount' ? `${namespace}/${name}` : name,
        )
        .join(', ');
    return [
      metadata.name,
      `${roleRef.kind}/${roleRef.name}`,
      since(metadata.creationTimestamp, now),
      named('User'),
      named('Group'),
      named('ServiceAccount'),
    ];
  },
};
