// The actions on an object, by its kind.

import { Button, Menu, Modal, NumberInput } from '@mantine/core';
import { type ReactNode, Suspense, useState } from 'react';
import { lazyComponent } from '../../parts/lazy-component.ts';
import { useLocation } from 'wouter';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { jobOf } from '../../data/actions/one-off.ts';
import { collectionPath, objectPath, typeId } from '../../data/server/resource-type.ts';
import {
  cordonPatch,
  type Patch,
  pausePatch,
  restartPatch,
  scalePatch,
  suspendPatch,
} from '../../data/actions/rollout.ts';
import { objectRoute } from '../../data/server/routes.ts';
import { ErrorBox } from '../../parts/basics.tsx';
import { useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

const BulkDelete = lazyComponent(async () => (await import('../bulk-delete.tsx')).BulkDelete);

const Drain = lazyComponent(async () => (await import('./drain.tsx')).Drain);

const NodeDebug = lazyComponent(async () => (await import('./node-debug.tsx')).NodeDebug);
const SetImage = lazyComponent(async () => (await import('./set-image.tsx')).SetImage);

/** Workloads that replace their pods when their template changes. */
const ROLLING: ReadonlySet<string> = new Set([
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
]);

interface Action {
  readonly title: string;
  readonly run: () => void;
}

type Dialog = 'scale' | 'images' | 'drain' | 'debug' | 'delete';

export function Actions({ type, object }: TabProps): ReactNode {
  const { api, clock } = useServices();
  const types = useTypes();
  const [, navigate] = useLocation();
  const { metadata, spec } = object;
  const [error, setError] = useState<unknown>();
  const [dialog, setDialog] = useState<Dialog>();
  const close = (): void => setDialog(undefined);
  const id = typeId(type);
  const path = (subresource?: string): string =>
    objectPath(type, metadata.namespace, metadata.name, subresource);
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setError(undefined);
    try {
      await work();
    } catch (error_) {
      setError(error_);
    }
  };
  const send = (patch: Patch, subresource?: string): void =>
    void attempt(() => api.request(path(subresource), { method: 'PATCH', ...patch }));
  const evict = (): void =>
    void attempt(() =>
      api.request(path('eviction'), {
        method: 'POST',
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: metadata.name, namespace: metadata.namespace },
          deleteOptions: { preconditions: { uid: metadata.uid } },
        },
      }),
    );
  const runNow = (): void =>
    void attempt(async () => {
      const jobs = types.byId('jobs.batch');
      if (jobs === undefined) return;
      const created = await api.json<KubeObject>(collectionPath(jobs, metadata.namespace ?? ''), {
        method: 'POST',
        body: jobOf(object),
      });
      navigate(objectRoute(jobs, metadata.namespace, created.metadata.name));
    });
  const actions = actionsOf(id, spec, {
    now: () => new Date(clock.now()).toISOString(),
    open: setDialog,
    send,
    evict,
    runNow,
  });
  return (
    <>
      <div className="actions">
        {type.subresources.includes('scale') && (
          <Button size="xs" variant="default" onClick={() => setDialog('scale')}>
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
              {actions.map(({ title, run }) => (
                <Menu.Item key={title} onClick={run}>
                  {title}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
        {type.verbs.includes('delete') && (
          <Button size="xs" variant="outline" color="red" onClick={() => setDialog('delete')}>
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
      {dialog === 'scale' && (
        <Scale
          current={Number(spec?.['replicas'] ?? 0)}
          onClose={close}
          onScale={(replicas) => {
            close();
            send(scalePatch(replicas), 'scale');
          }}
        />
      )}
      <Suspense>
        {dialog === 'images' && (
          <SetImage
            object={object}
            onClose={close}
            onPatch={(patch) => {
              close();
              send(patch);
            }}
          />
        )}
        {dialog === 'drain' && <Drain type={type} object={object} onClose={close} />}
        {dialog === 'debug' && <NodeDebug node={metadata.name} onClose={close} />}
        {dialog === 'delete' && (
          <BulkDelete
            type={type}
            rows={[
              {
                namespace: metadata.namespace ?? '',
                name: metadata.name,
                uid: metadata.uid ?? '',
              },
            ]}
            onClose={close}
          />
        )}
      </Suspense>
    </>
  );
}

interface Effects {
  readonly now: () => string;
  readonly open: (dialog: Dialog) => void;
  readonly send: (patch: Patch) => void;
  readonly evict: () => void;
  readonly runNow: () => void;
}

function actionsOf(
  id: string,
  spec: Readonly<Record<string, unknown>> | undefined,
  { now, open, send, evict, runNow }: Effects,
): readonly Action[] {
  const actions: Action[] = [];
  const add = (title: string, run: () => void): void => void actions.push({ title, run });
  if (ROLLING.has(id)) {
    add('Restart the pods', () => send(restartPatch(now())));
    add('Set images …', () => open('images'));
  }
  if (id === 'deployments.apps') {
    const paused = spec?.['paused'] === true;
    add(paused ? 'Resume the rollout' : 'Pause the rollout', () => send(pausePatch(!paused)));
  }
  if (id === 'pods') add('Evict (a disruption budget may forbid it)', evict);
  if (id === 'nodes') {
    const cordoned = spec?.['unschedulable'] === true;
    add(cordoned ? 'Take new pods (uncordon)' : 'Take no new pods (cordon)', () =>
      send(cordonPatch(!cordoned)),
    );
    add('Drain …', () => open('drain'));
    add('Debug …', () => open('debug'));
  }
  if (id === 'cronjobs.batch') add('Run now', runNow);
  if (id === 'cronjobs.batch' || id === 'jobs.batch') {
    const suspended = spec?.['suspend'] === true;
    add(suspended ? 'Resume' : 'Suspend', () => send(suspendPatch(!suspended)));
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
