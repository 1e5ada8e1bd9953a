// The actions on an object, by its kind.

import { Button, Menu, Modal, NumberInput } from '@mantine/core';
import { type ReactNode, Suspense, useState } from 'react';
import { lazyComponent } from '../../parts/lazy-component.ts';
import { objectPath, typeId } from '../../data/resource-type.ts';
import {
  cordonPatch,
  type Patch,
  pausePatch,
  restartPatch,
  scalePatch,
  suspendPatch,
} from '../../data/rollout.ts';
import { ErrorBox } from '../../parts/basics.tsx';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

const BulkDelete = lazyComponent(async () => (await import('../bulk-delete.tsx')).BulkDelete);

const Drain = lazyComponent(async () => (await import('./drain.tsx')).Drain);

const RESTARTABLE: ReadonlySet<string> = new Set([
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
]);

interface Action {
  readonly title: string;
  readonly patch: () => Patch;
}

export function Actions({ type, object }: TabProps): ReactNode {
  const { api, clock } = useServices();
  const { metadata, spec } = object;
  const [error, setError] = useState<unknown>();
  const [scaling, setScaling] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [draining, setDraining] = useState(false);
  const id = typeId(type);
  const canScale = type.subresources.includes('scale');
  const run = async (patch: Patch, subresource?: string): Promise<void> => {
    setError(undefined);
    try {
      const path = objectPath(type, metadata.namespace, metadata.name, subresource);
      await api.request(path, { method: 'PATCH', ...patch });
    } catch (error_) {
      setError(error_);
    }
  };
  const actions = actionsOf(id, spec, () => new Date(clock.now()).toISOString());
  return (
    <>
      <div className="actions">
        {canScale && (
          <Button size="xs" variant="default" onClick={() => setScaling(true)}>
            Scale
          </Button>
        )}
        {actions.length > 0 && (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button size="xs" variant="default" rightSection="▾">
                Actions
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {actions.map(({ title, patch }) => (
                <Menu.Item key={title} onClick={() => void run(patch())}>
                  {title}
                </Menu.Item>
              ))}
              {id === 'nodes' && <Menu.Item onClick={() => setDraining(true)}>Drain …</Menu.Item>}
            </Menu.Dropdown>
          </Menu>
        )}
        {type.verbs.includes('delete') && (
          <Button size="xs" variant="outline" color="red" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
      </div>
      {error !== undefined && (
        <Modal
          opened
          onClose={() => setError(undefined)}
          title={type.kind}
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          <ErrorBox error={error} />
        </Modal>
      )}
      {scaling && (
        <Scale
          current={Number(spec?.['replicas'] ?? 0)}
          onClose={() => setScaling(false)}
          onScale={(replicas) => {
            setScaling(false);
            void run(scalePatch(replicas), 'scale');
          }}
        />
      )}
      <Suspense>
        {draining && <Drain type={type} object={object} onClose={() => setDraining(false)} />}
        {deleting && (
          <BulkDelete
            type={type}
            rows={[
              {
                namespace: metadata.namespace ?? '',
                name: metadata.name,
                uid: metadata.uid ?? '',
              },
            ]}
            onClose={() => setDeleting(false)}
          />
        )}
      </Suspense>
    </>
  );
}

function actionsOf(
  id: string,
  spec: Readonly<Record<string, unknown>> | undefined,
  now: () => string,
): readonly Action[] {
  const actions: Action[] = [];
  const add = (title: string, patch: () => Patch): void => void actions.push({ title, patch });
  if (RESTARTABLE.has(id)) add('Restart the pods', () => restartPatch(now()));
  if (id === 'deployments.apps') {
    const paused = spec?.['paused'] === true;
    add(paused ? 'Resume the rollout' : 'Pause the rollout', () => pausePatch(!paused));
  }
  if (id === 'nodes') {
    const cordoned = spec?.['unschedulable'] === true;
    add(cordoned ? 'Take new pods (uncordon)' : 'Take no new pods (cordon)', () =>
      cordonPatch(!cordoned),
    );
  }
  if (id === 'cronjobs.batch' || id === 'jobs.batch') {
    const suspended = spec?.['suspend'] === true;
    add(suspended ? 'Resume' : 'Suspend', () => suspendPatch(!suspended));
  }
  return actions;
}

const MAX_REPLICAS = 100_000;

function Scale({
  current,
  onClose,
  onScale,
}: {
  readonly current: number;
  readonly onClose: () => void;
  readonly onScale: (replicas: number) => void;
}): ReactNode {
  const [value, setValue] = useState<number | string>(current);
  const valid = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  return (
    <Modal opened onClose={onClose} title="Scale" closeButtonProps={{ 'aria-label': 'Close' }}>
      <NumberInput
        label="Replicas"
        description={`Now: ${current}`}
        value={value}
        min={0}
        max={MAX_REPLICAS}
        allowDecimal={false}
        onChange={setValue}
        data-autofocus
      />
      <div className="modal-actions">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!valid || value === current}
          onClick={() => {
            if (valid) onScale(value);
          }}
        >
          Scale
        </Button>
      </div>
    </Modal>
  );
}
