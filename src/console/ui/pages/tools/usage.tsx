// The usage of nodes, beside what they can give, and of pods.

import { Progress, SegmentedControl, TextInput } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { bytesText, coresText, parseQuantity } from '../../data/text/quantity.ts';
import { MAX_KUBELETS, type Usage, UsageReader, type Usages } from '../../data/insight/usage.ts';
import { Empty, ErrorBox, Loading, ObjectLink, PlainTable, Section } from '../../parts/basics.tsx';
import { usePolled, usePreferences, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

const REFRESH_MS = 10_000;
const NODES = 1000;
const SHOWN = 200;

type What = 'nodes' | 'pods';
type Order = 'cpu' | 'memory';

interface Found extends Usages {
  readonly objects: ReadonlyMap<string, KubeObject>;
}

export function UsagePage(): ReactNode {
  const { api } = useServices();
  const types = useTypes();
  const { namespace } = usePreferences();
  const [what, setWhat] = useState<What>('nodes');
  const [order, setOrder] = useState<Order>('cpu');
  const [filter, setFilter] = useState('');
  const reader = useMemo(() => new UsageReader(api), [api]);
  const key = `usage/${what}/${what === 'pods' ? namespace : ''}`;
  const { value, error, reload } = usePolled(key, REFRESH_MS, async (signal): Promise<Found> => {
    const { items } = await api.json<{ items: readonly KubeObject[] }>(
      `/api/v1/nodes?limit=${NODES}`,
      { signal },
    );
    const objects = new Map(items.map((node) => [node.metadata.name, node]));
    const nodes = [...objects.keys()];
    return { objects, ...(await reader.read({ types, nodes, what, namespace, signal })) };
  });
  const shown = (value?.[what] ?? [])
    .filter((each) => `${each.namespace}/${each.name}`.includes(filter.trim()))
    .toSorted((a, b) => (b[order] || 0) - (a[order] || 0));
  return (
    <>
      <h1 className="page-title">Usage</h1>
      <div className="toolbar">
        <SegmentedControl
          size="xs"
          aria-label="Usage of"
          value={what}
          onChange={(next) => setWhat(next)}
          data={[
            { value: 'nodes', label: 'Nodes' },
            { value: 'pods', label: 'Pods' },
          ]}
        />
        <SegmentedControl
          size="xs"
          aria-label="Highest first by"
          value={order}
          onChange={(next) => setOrder(next)}
          data={[
            { value: 'cpu', label: 'CPU' },
            { value: 'memory', label: 'Memory' },
          ]}
        />
        <TextInput
          size="xs"
          aria-label="Names that contain"
          placeholder="Names that contain …"
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        {value !== undefined && <span className="muted">{sourceText(value)}</span>}
      </div>
      {error !== undefined && (
        <ErrorBox title="The usage cannot be read" error={error} onRetry={reload} />
      )}
      {value === undefined && error === undefined && <Loading what="metrics" />}
      {value !== undefined && (
        <Section title={`${what === 'nodes' ? 'Nodes' : 'Pods'}: ${shown.length}`}>
          {shown.length === 0 ? (
            <Empty>There are none.</Empty>
          ) : what === 'nodes' ? (
            <NodeTable usages={shown.slice(0, SHOWN)} objects={value.objects} />
          ) : (
            <PodTable usages={shown.slice(0, SHOWN)} />
          )}
          {shown.length > SHOWN && (
            <p className="muted">The {SHOWN} with the highest usage are shown.</p>
          )}
          <Failures failures={value.failures} />
        </Section>
      )}
    </>
  );
}

function sourceText({ source, objects }: Found): string {
  if (source === 'metrics.k8s.io') return 'Measured by metrics.k8s.io';
  return objects.size > MAX_KUBELETS
    ? `Measured by the kubelets of the first ${MAX_KUBELETS} nodes`
    : 'Measured by kubelets';
}

const SHOWN_FAILURES = 5;

const Failures = ({ failures }: { readonly failures: ReadonlyMap<string, string> }): ReactNode => (
  <>
    {[...failures].slice(0, SHOWN_FAILURES).map(([node, reason]) => (
      <p key={node} className="muted">
        Not known of {printable(node)}: {printable(reason)}
      </p>
    ))}
  </>
);

function NodeTable({
  usages,
  objects,
}: {
  readonly usages: readonly Usage[];
  readonly objects: ReadonlyMap<string, KubeObject>;
}): ReactNode {
  const types = useTypes();
  return (
    <PlainTable of="nodes" className="usage-table">
      <thead>
        <tr>
          <th>Node</th>
          <th>CPU</th>
          <th>Memory</th>
        </tr>
      </thead>
      <tbody>
        {usages.map(({ name, cpu, memory }) => {
          const allocatable = (objects.get(name)?.status?.['allocatable'] ?? {}) as Readonly<
            Record<string, string>
          >;
          const cpuMax = parseQuantity(allocatable['cpu'] ?? '');
          const memoryMax = parseQuantity(allocatable['memory'] ?? '');
          return (
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
          );
        })}
      </tbody>
    </PlainTable>
  );
}

function PodTable({ usages }: { readonly usages: readonly Usage[] }): ReactNode {
  const types = useTypes();
  return (
    <PlainTable of="pods" className="usage-table">
      <thead>
        <tr>
          <th>Namespace</th>
          <th>Pod</th>
          <th>CPU</th>
          <th>Memory</th>
        </tr>
      </thead>
      <tbody>
        {usages.map(({ namespace, name, cpu, memory }) => (
          <tr key={`${namespace}/${name}`}>
            <td>{printable(namespace)}</td>
            <td>
              <ObjectLink type={types.byId('pods')} namespace={namespace} name={name} />
            </td>
            <td className="number">{coresText(cpu)}</td>
            <td className="number">{bytesText(memory)}</td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  );
}

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
