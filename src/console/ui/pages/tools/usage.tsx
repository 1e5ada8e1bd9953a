// The usage of nodes: what metrics.k8s.io measures, beside what a node can give.

import { Progress } from '@mantine/core';
import type { ReactNode } from 'react';
import { isNotFound } from '../../data/api-error.ts';
import type { KubeObject } from '../../data/live-object.ts';
import { printable } from '../../data/printable.ts';
import { bytesText, coresText, parseQuantity } from '../../data/quantity.ts';
import { Empty, ErrorBox, Loading, ObjectLink, PlainTable, Section } from '../../parts/basics.tsx';
import { usePolled, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

const REFRESH_MS = 15_000;
const LIMIT = 1000;
const SHOWN = 200;

interface Metrics {
  readonly metadata: { readonly name: string };
  readonly usage: { readonly cpu?: string; readonly memory?: string };
}

interface NodeUsage {
  readonly name: string;
  readonly cpu: number;
  readonly cpuMax: number;
  readonly memory: number;
  readonly memoryMax: number;
}

export function UsagePage(): ReactNode {
  const { api } = useServices();
  const types = useTypes();
  const { value, error, reload } = usePolled('usage', REFRESH_MS, async (signal) => {
    const [metrics, nodes] = await Promise.all([
      api.json<{ items: readonly Metrics[] }>('/apis/metrics.k8s.io/v1beta1/nodes', { signal }),
      api.json<{ items: readonly KubeObject[] }>(`/api/v1/nodes?limit=${LIMIT}`, { signal }),
    ]);
    return usagesOf(metrics.items, nodes.items);
  });
  return (
    <>
      <h1 className="page-title">Node usage</h1>
      {error !== undefined &&
        (isNotFound(error) ? (
          <Empty>The cluster has no metrics (no server for metrics.k8s.io).</Empty>
        ) : (
          <ErrorBox error={error} onRetry={reload} />
        ))}
      {value === undefined && error === undefined && <Loading what="metrics" />}
      {value !== undefined && (
        <Section title={`Nodes: ${value.length}`}>
          <PlainTable of="nodes" className="usage-table">
            <thead>
              <tr>
                <th>Node</th>
                <th>CPU</th>
                <th>Memory</th>
              </tr>
            </thead>
            <tbody>
              {value.slice(0, SHOWN).map(({ name, cpu, cpuMax, memory, memoryMax }) => (
                <tr key={name}>
                  <td>
                    <ObjectLink type={types.byId('nodes')} namespace={undefined} name={name} />
                  </td>
                  <td>
                    <Bar
                      label={`CPU of ${printable(name)}`}
                      share={cpu / cpuMax}
                      text={`${coresText(cpu)} of ${coresText(cpuMax)}`}
                    />
                  </td>
                  <td>
                    <Bar
                      label={`Memory of ${printable(name)}`}
                      share={memory / memoryMax}
                      text={`${bytesText(memory)} of ${bytesText(memoryMax)}`}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </PlainTable>
          {value.length > SHOWN && (
            <p className="muted">The {SHOWN} nodes with the highest usage are shown.</p>
          )}
        </Section>
      )}
    </>
  );
}

/** Returns the usage of each node, the highest share first. */
function usagesOf(metrics: readonly Metrics[], nodes: readonly KubeObject[]): NodeUsage[] {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return metrics
    .map(({ metadata: { name }, usage }) => {
      const allocatable = (byName.get(name)?.status?.['allocatable'] ?? {}) as Readonly<
        Record<string, string>
      >;
      return {
        name,
        cpu: parseQuantity(usage.cpu ?? ''),
        cpuMax: parseQuantity(allocatable['cpu'] ?? ''),
        memory: parseQuantity(usage.memory ?? ''),
        memoryMax: parseQuantity(allocatable['memory'] ?? ''),
      };
    })
    .sort((a, b) => shareOf(b) - shareOf(a));
}

const shareOf = ({ cpu, cpuMax, memory, memoryMax }: NodeUsage): number =>
  Math.max(cpu / cpuMax || 0, memory / memoryMax || 0);

function Bar({
  label,
  share,
  text,
}: {
  readonly label: string;
  readonly share: number;
  readonly text: string;
}): ReactNode {
  const percent = Number.isFinite(share) ? Math.min(100, share * 100) : 0;
  const color = percent > 90 ? 'red' : percent > 75 ? 'yellow' : 'sea';
  return (
    <div className="bar">
      <Progress value={percent} color={color} aria-label={label} />
      <span>{text}</span>
    </div>
  );
}
