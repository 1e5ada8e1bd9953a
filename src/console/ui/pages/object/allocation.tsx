// Shows what the pods of a node request of it.

import { Progress } from '@mantine/core';
import type { ReactNode } from 'react';
import { allocationOf } from '../../data/insight/allocation.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { podQuery } from '../../data/insight/pods-of.ts';
import { printable } from '../../data/text/printable.ts';
import { bytesText, coresText } from '../../data/text/quantity.ts';
import { collectionPath } from '../../data/server/resource-type.ts';
import { PlainTable, Section } from '../../parts/basics.tsx';
import { useLiveList, useTypes } from '../../parts/hooks.ts';
import type { TabProps } from './tab-props.ts';

const LIMIT = 1000;

export function Allocation({ type, object }: TabProps): ReactNode {
  const types = useTypes();
  const pods = types.byId('pods');
  const { items, state, truncated } = useLiveList(
    pods === undefined ? undefined : collectionPath(pods, ''),
    podQuery(type, object),
    LIMIT,
  );
  if (state.kind === 'failed' || (state.kind === 'loading' && items.length === 0)) return null;
  return <AllocationTable node={object} pods={items} truncated={truncated} />;
}

const AllocationTable = ({
  node,
  pods,
  truncated,
}: {
  readonly node: KubeObject;
  readonly pods: readonly KubeObject[];
  readonly truncated: boolean;
}): ReactNode => (
  <Section title={truncated ? `Requested by the first ${LIMIT} pods` : 'Requested by pods'}>
    <PlainTable of="resources" className="usage-table">
      <thead>
        <tr>
          <th>Resource</th>
          <th>Requests</th>
          <th>Limits</th>
          <th>Allocatable</th>
        </tr>
      </thead>
      <tbody>
        {allocationOf(node, pods).map(({ resource, requested, limits, allocatable }) => {
          const percent = Math.round((requested / allocatable) * 100);
          return (
            <tr key={resource}>
              <td>{printable(resource)}</td>
              <td>
                <div className="bar">
                  <Progress
                    value={Math.min(100, percent)}
                    color={percent > 95 ? 'red' : percent > 80 ? 'yellow' : 'sea'}
                    aria-label={`Requests of ${printable(resource)}`}
                  />
                  <span>
                    {amountText(resource, requested)} ({percent} %)
                  </span>
                </div>
              </td>
              <td className="number">{limits === 0 ? '–' : amountText(resource, limits)}</td>
              <td className="number">{amountText(resource, allocatable)}</td>
            </tr>
          );
        })}
      </tbody>
    </PlainTable>
  </Section>
);

function amountText(resource: string, amount: number): string {
  if (resource === 'cpu') return coresText(amount);
  if (/^(memory|ephemeral-storage|hugepages-.*)$/.test(resource)) return bytesText(amount);
  return amount.toLocaleString('en');
}
