// The map: in a namespace what leads to what; in all of them an overview of the namespaces.

import { Paper, UnstyledButton } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { setPreference } from '../../browser/preferences.ts';
import { clusterMap, type MapBox } from '../../data/insight/cluster-map.ts';
import type { ListSnapshot } from '../../data/lists/live-list.ts';
import type { TableSnapshot } from '../../data/lists/live-table.ts';
import { printable } from '../../data/text/printable.ts';
import { collectionPath } from '../../data/server/resource-type.ts';
import { Empty, Loading, ObjectLink, SeverityMark } from '../../parts/basics.tsx';
import { Flow } from '../../parts/flow.tsx';
import { useLiveList, usePreferences, useTableRows, useTypes } from '../../parts/hooks.ts';

const LIMIT = 300;
const COLUMN = 380;
const ROW = 92;

export function MapPage(): ReactNode {
  const { namespace } = usePreferences();
  return (
    <>
      <h1 className="page-title">
        {namespace === '' ? 'Map of namespaces' : `Map of ${printable(namespace)}`}
      </h1>
      {namespace === '' ? <Namespaces /> : <NamespaceMap namespace={namespace} />}
    </>
  );
}

function NamespaceMap({ namespace }: { readonly namespace: string }): ReactNode {
  const ingresses = useKind('ingresses.networking.k8s.io', namespace);
  const services = useKind('services', namespace);
  const deployments = useKind('deployments.apps', namespace);
  const statefulSets = useKind('statefulsets.apps', namespace);
  const daemonSets = useKind('daemonsets.apps', namespace);
  const { boxes, lines } = useMemo(
    () =>
      clusterMap({
        ingresses: ingresses.items,
        services: services.items,
        workloads: {
          'deployments.apps': deployments.items,
          'statefulsets.apps': statefulSets.items,
          'daemonsets.apps': daemonSets.items,
        },
      }),
    [ingresses, services, deployments, statefulSets, daemonSets],
  );
  const lists = [ingresses, services, deployments, statefulSets, daemonSets];
  // A service that is not read yet must not be shown as one that does not exist.
  if (lists.some(({ state, items }) => state.kind === 'loading' && items.length === 0))
    return <Loading what="the map" />;
  if (boxes.length === 0)
    return <Empty>There are no services or workloads in this namespace.</Empty>;
  return (
    <>
      {lists.some(({ truncated }) => truncated) && (
        <p className="muted">Only the first {LIMIT} objects of a kind are shown.</p>
      )}
      <Flow
        key={namespace}
        label={`Map of ${namespace}`}
        boxes={boxes.map((box) => ({
          id: box.id,
          x: box.column * COLUMN,
          y: box.row * ROW,
          className: `flow-${box.state}`,
          content: <BoxText box={box} namespace={namespace} />,
        }))}
        lines={lines}
      />
    </>
  );
}

function useKind(id: string, namespace: string): ListSnapshot {
  const type = useTypes().byId(id);
  return useLiveList(
    type === undefined ? undefined : collectionPath(type, namespace),
    undefined,
    LIMIT,
  );
}

function BoxText({
  box,
  namespace,
}: {
  readonly box: MapBox;
  readonly namespace: string;
}): ReactNode {
  const types = useTypes();
  return (
    <>
      <span className="muted">{types.byId(box.typeId)?.kind ?? box.kind}</span>{' '}
      <ObjectLink
        type={box.detail === 'does not exist' ? undefined : types.byId(box.typeId)}
        namespace={namespace}
        name={box.name}
      />
      <span className="cause-source">
        {box.state !== 'info' && <SeverityMark severity={box.state} />} {printable(box.detail)}
      </span>
    </>
  );
}

function Namespaces(): ReactNode {
  const types = useTypes();
  const namespaces = useTableRows(types.byId('namespaces'), '');
  const services = useTableRows(types.byId('services'), '');
  const deployments = useTableRows(types.byId('deployments.apps'), '');
  const statefulSets = useTableRows(types.byId('statefulsets.apps'), '');
  const daemonSets = useTableRows(types.byId('daemonsets.apps'), '');
  const counts = useMemo(
    () => ({
      services: countByNamespace([services]),
      workloads: countByNamespace([deployments, statefulSets, daemonSets]),
      incomplete: countByNamespace([deployments, statefulSets], isIncomplete),
    }),
    [services, deployments, statefulSets, daemonSets],
  );
  if (namespaces.state.kind === 'failed')
    return <Empty>You may not list namespaces: choose one above.</Empty>;
  return (
    <ul className="namespace-map">
      {namespaces.rows.map(({ uid, name }) => {
        const incomplete = counts.incomplete.get(name) ?? 0;
        return (
          <li key={uid}>
            <Paper withBorder>
              <UnstyledButton
                className="namespace-card"
                onClick={() => setPreference({ namespace: name })}
              >
                <strong>{printable(name)}</strong>
                <span className="muted">
                  {counts.workloads.get(name) ?? 0} workloads, {counts.services.get(name) ?? 0}{' '}
                  services
                </span>
                {incomplete > 0 && (
                  <span className="state-problem">
                    <SeverityMark severity="problem" /> {incomplete} incomplete
                  </span>
                )}
              </UnstyledButton>
            </Paper>
          </li>
        );
      })}
    </ul>
  );
}

type RowTest = (row: TableSnapshot['rows'][number], table: TableSnapshot) => boolean;

function countByNamespace(
  tables: readonly TableSnapshot[],
  test: RowTest = () => true,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const table of tables)
    for (const row of table.rows)
      if (test(row, table)) counts.set(row.namespace, (counts.get(row.namespace) ?? 0) + 1);
  return counts;
}

const isIncomplete: RowTest = ({ cells }, { columns }) => {
  const index = columns.findIndex(({ name }) => name === 'Ready');
  const [have, want] = String(cells[index] ?? '').split('/');
  return Number(have) < Number(want);
};
