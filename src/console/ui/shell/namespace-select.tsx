// The namespace that lists show. A user who may not list namespaces types the name.

import { Autocomplete, Select } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { setPreference } from '../browser/preferences.ts';
import { usePreferences, useTableRows, useTypes } from '../parts/hooks.ts';

const ALL = 'All namespaces';
/** A label, as the names of namespaces are. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const NAMESPACES = {
  group: '',
  version: 'v1',
  resource: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  verbs: ['list', 'watch'],
  shortNames: [],
  categories: [],
  subresources: [],
};

function useNamespaces(): { readonly names: readonly string[]; readonly denied: boolean } {
  const types = useTypes();
  const { rows, state } = useTableRows(types.byId('namespaces') ?? NAMESPACES, '');
  return { names: rows.map(({ name }) => name), denied: state.kind === 'failed' };
}

export function NamespaceSelect(): ReactNode {
  const { namespace } = usePreferences();
  const { names, denied } = useNamespaces();
  const choose = (name: string): void => setPreference({ namespace: name });
  if (denied) return <TypedNamespace namespace={namespace} onChoose={choose} />;
  const known = namespace === '' || names.includes(namespace) ? names : [namespace, ...names];
  return (
    <Select
      className="namespace-select"
      aria-label="Namespace"
      size="xs"
      searchable
      value={namespace === '' ? ALL : namespace}
      data={[ALL, ...known]}
      limit={200}
      allowDeselect={false}
      onChange={(value) => choose(value === null || value === ALL ? '' : value)}
      comboboxProps={{ width: 260, position: 'bottom-start' }}
      nothingFoundMessage="No such namespace"
    />
  );
}

function TypedNamespace({
  namespace,
  onChoose,
}: {
  readonly namespace: string;
  readonly onChoose: (name: string) => void;
}): ReactNode {
  const [text, setText] = useState(namespace);
  useEffect(() => setText(namespace), [namespace]);
  const valid = text === '' || NAME.test(text);
  const commit = (): void => {
    if (valid) onChoose(text);
  };
  return (
    <Autocomplete
      className="namespace-select"
      aria-label="Namespace"
      size="xs"
      placeholder="Type a namespace"
      value={text}
      error={!valid}
      onChange={setText}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit();
      }}
    />
  );
}
