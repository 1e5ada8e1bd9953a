// The rollout of a workload: how far it is, and its revisions, each of which can be taken back to.

import { Button, Progress } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { printable } from '../../data/text/printable.ts';
import { collectionPath, objectPath } from '../../data/server/resource-type.ts';
import {
  type Revision,
  revisionsOf,
  revisionTypeId,
  undoPatch,
} from '../../data/actions/rollout.ts';
import {
  Age,
  Empty,
  ErrorBox,
  ObjectLink,
  PlainTable,
  Section,
  StatusBadge,
} from '../../parts/basics.tsx';
import { useLiveList, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

export function RolloutTab({ type, object }: TabProps): ReactNode {
  const types = useTypes();
  const { api } = useServices();
  const revisionType = types.byId(revisionTypeId(type));
  const { items, state } = useLiveList(
    revisionType === undefined
      ? undefined
      : collectionPath(revisionType, object.metadata.namespace ?? ''),
  );
  const [error, setError] = useState<unknown>();
  const [undoing, setUndoing] = useState<number>();
  const revisions = revisionsOf({ kind: type.kind, ...object }, items);
  const undo = async (revision: Revision): Promise<void> => {
    setUndoing(revision.number);
    setError(undefined);
    try {
      const patch = undoPatch({ kind: type.kind, ...object }, revision);
      const { namespace, name } = object.metadata;
      await api.request(objectPath(type, namespace, name), { method: 'PATCH', ...patch });
    } catch (error_) {
      setError(error_);
    } finally {
      setUndoing(undefined);
    }
  };
  const paused = object.spec?.['paused'] === true;
  return (
    <div className="stack">
      <RolloutProgress type={type} object={object} />
      {error !== undefined && <ErrorBox error={error} />}
      {paused && <p className="muted">A paused rollout cannot be undone: resume it first.</p>}
      <Section title="Revisions">
        {state.kind === 'failed' && <ErrorBox error={new Error(state.message)} />}
        {revisions.length === 0 ? (
          <Empty>{state.kind === 'loading' ? 'Loading …' : 'There are no revisions.'}</Empty>
        ) : (
          <PlainTable of="revisions">
            <thead>
              <tr>
                <th>Revision</th>
                <th>Images</th>
                <th>Cause</th>
                <th>Pods</th>
                <th>Age</th>
                <th>Undo</th>
              </tr>
            </thead>
            <tbody>
              {revisions.map((revision) => (
                <tr key={revision.name}>
                  <td>
                    <ObjectLink
                      type={revisionType}
                      namespace={object.metadata.namespace}
                      name={revision.name}
                    >
                      {revision.number}
                    </ObjectLink>{' '}
                    {revision.current && <StatusBadge severity="ok">current</StatusBadge>}
                  </td>
                  <td className="mono">{revision.images.map(printable).join(', ')}</td>
                  <td>{printable(revision.cause)}</td>
                  <td className="number">{revision.replicas ?? '–'}</td>
                  <td>
                    <Age time={revision.created} />
                  </td>
                  <td>
                    {!revision.current && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        disabled={paused}
                        loading={undoing === revision.number}
                        onClick={() => void undo(revision)}
                      >
                        Back to revision {revision.number}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </PlainTable>
        )}
      </Section>
    </div>
  );
}

function RolloutProgress({ object }: TabProps): ReactNode {
  const { spec, status } = object;
  const count = (field: string): number => Number(status?.[field] ?? 0);
  const isDaemonSet = status?.['desiredNumberScheduled'] !== undefined;
  const want = isDaemonSet ? count('desiredNumberScheduled') : Number(spec?.['replicas'] ?? 1);
  const updated = isDaemonSet ? count('updatedNumberScheduled') : count('updatedReplicas');
  const available = isDaemonSet ? count('numberAvailable') : count('availableReplicas');
  const percent = (value: number): number =>
    want === 0 ? 100 : Math.min(100, (value / want) * 100);
  return (
    <Section title="Progress">
      <div className="progress-line">
        <span>
          Updated {updated} of {want}
        </span>
        <Progress value={percent(updated)} aria-label="Updated pods" />
      </div>
      <div className="progress-line">
        <span>
          Available {available} of {want}
        </span>
        <Progress value={percent(available)} color="green" aria-label="Available pods" />
      </div>
    </Section>
  );
}
