// "Who can": subjects that RBAC allows an action.

import { Autocomplete, Select, TextInput } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { collectionPath, typeId } from '../../data/server/resource-type.ts';
import { printable } from '../../data/text/printable.ts';
import {
  type Binding,
  type Grant,
  type Rbac,
  type Role,
  whoCan,
} from '../../data/insight/who-can.ts';
import { Empty, ErrorBox, Loading, ObjectLink, PlainTable, Section } from '../../parts/basics.tsx';
import { useLoad, usePreferences, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

const RBAC = 'rbac.authorization.k8s.io';
const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'impersonate',
  'bind',
  'escalate',
];
/** More roles and bindings than this are not read. */
const LIMIT = 5000;

export function WhoCanPage(): ReactNode {
  const types = useTypes();
  const { namespace } = usePreferences();
  const [verb, setVerb] = useState('get');
  const [resource, setResource] = useState<string | null>('secrets');
  const [name, setName] = useState('');
  const rbac = useRbac();
  const type = types.byId((resource ?? '').split('/')[0] ?? '');
  const resources = useMemo(
    () =>
      types.all.flatMap((each) => [
        typeId(each),
        ...each.subresources.map((subresource) => `${typeId(each)}/${subresource}`),
      ]),
    [types],
  );
  const place = type?.namespaced === false ? '' : namespace;
  const grants =
    rbac.value === undefined || type === undefined
      ? []
      : whoCan(rbac.value, {
          verb: verb.trim(),
          group: type.group,
          resource: `${type.resource}${/\/.*/.exec(resource ?? '')?.[0] ?? ''}`,
          namespace: place,
          name: name.trim(),
        });
  return (
    <>
      <h1 className="page-title">Who can</h1>
      <div className="toolbar">
        <Autocomplete label="Verb" data={VERBS} value={verb} onChange={setVerb} />
        <Select
          label="Resource"
          data={resources}
          value={resource}
          onChange={setResource}
          searchable
          limit={100}
          className="wide-field"
        />
        <TextInput
          label="Name (any if empty)"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <p className="muted">
        {type?.namespaced === false
          ? 'Objects of this kind have no namespace.'
          : place === ''
            ? 'In all namespaces: choose a namespace above to see the grants in it as well.'
            : `In the namespace ${place}.`}{' '}
        Members of the group system:masters may do everything.
      </p>
      {rbac.error !== undefined && <ErrorBox error={rbac.error} onRetry={rbac.reload} />}
      {rbac.value === undefined && rbac.error === undefined && <Loading what="roles" />}
      {rbac.value !== undefined && <Grants grants={grants} />}
    </>
  );
}

function useRbac(): ReturnType<typeof useLoad<Rbac>> {
  const { api } = useServices();
  const types = useTypes();
  return useLoad(`rbac/${types.all.length > 0}`, async (signal) => {
    const list = async <T,>(resource: string): Promise<readonly T[]> => {
      const type = types.byId(`${resource}.${RBAC}`);
      if (type === undefined) return [];
      const path = `${collectionPath(type, '')}?limit=${LIMIT}`;
      return (await api.json<{ items?: readonly T[] }>(path, { signal })).items ?? [];
    };
    const [roles, clusterRoles, roleBindings, clusterRoleBindings] = await Promise.all([
      list<Role>('roles'),
      list<Role>('clusterroles'),
      list<Binding>('rolebindings'),
      list<Binding>('clusterrolebindings'),
    ]);
    return { roles, clusterRoles, roleBindings, clusterRoleBindings };
  });
}

function Grants({ grants }: { readonly grants: readonly Grant[] }): ReactNode {
  const types = useTypes();
  if (grants.length === 0) return <Empty>RBAC allows it to no subject.</Empty>;
  return (
    <Section title={`Subjects: ${grants.length}`}>
      <PlainTable of="subjects">
        <thead>
          <tr>
            <th>Subject</th>
            <th>Binding</th>
            <th>Role</th>
            <th>Only names</th>
          </tr>
        </thead>
        <tbody>
          {grants.map(({ subject, binding, role, onlyNames }) => {
            const { name, namespace } = binding.metadata;
            const kind = namespace === undefined ? 'clusterrolebindings' : 'rolebindings';
            const roleKind = role.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
            return (
              <tr key={`${kind}/${namespace}/${name}/${subject.kind}/${subject.name}`}>
                <td>
                  <span className="muted">{printable(subject.kind)} </span>
                  {subject.kind === 'ServiceAccount' ? (
                    <ObjectLink
                      type={types.byId('serviceaccounts')}
                      namespace={subject.namespace}
                      name={subject.name}
                    >
                      {printable(`${subject.namespace ?? ''}/${subject.name}`)}
                    </ObjectLink>
                  ) : (
                    printable(subject.name)
                  )}
                </td>
                <td>
                  <ObjectLink
                    type={types.byId(`${kind}.${RBAC}`)}
                    namespace={namespace}
                    name={name}
                  />
                </td>
                <td>
                  <ObjectLink
                    type={types.byId(`${roleKind}.${RBAC}`)}
                    namespace={namespace}
                    name={role.name}
                  />
                </td>
                <td>{onlyNames.map(printable).join(', ')}</td>
              </tr>
            );
          })}
        </tbody>
      </PlainTable>
    </Section>
  );
}
