// Drains a node: what will happen, consent to what is lost, and the progress of each pod.

import { Alert, Button, Checkbox, Modal, Progress } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { isAbort } from '../../data/server/api-error.ts';
import { drainPlan, evictAll, type PodProgress } from '../../data/actions/drain.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { objectPath } from '../../data/server/resource-type.ts';
import { cordonPatch } from '../../data/actions/rollout.ts';
import { ErrorBox, Loading } from '../../parts/basics.tsx';
import { useLoad } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

const SHOWN = 200;

type States = ReadonlyMap<string, PodProgress>;

export function Drain({ type, object, onClose }: TabProps & { onClose: () => void }): ReactNode {
  const { api, clock } = useServices();
  const { name } = object.metadata;
  const query = new URLSearchParams({ fieldSelector: `spec.nodeName=${name}` });
  const { value, error, reload } = useLoad(`drain/${name}`, (signal) =>
    api.json<{ items?: readonly KubeObject[] }>(`/api/v1/pods?${query}`, { signal }),
  );
  const plan = useMemo(
    () => (value === undefined ? undefined : drainPlan(value.items ?? [])),
    [value],
  );
  const [consent, setConsent] = useState({ unmanaged: false, localData: false });
  const [states, setStates] = useState<States>();
  const [failure, setFailure] = useState<unknown>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const start = async (pods: readonly KubeObject[]): Promise<void> => {
    const abort = new AbortController();
    running.current = abort;
    setFailure(undefined);
    setStates(new Map());
    try {
      const path = objectPath(type, undefined, name);
      await api.request(path, { method: 'PATCH', ...cordonPatch(true), signal: abort.signal });
      await evictAll(
        { api, clock },
        pods,
        ({ metadata }, progress) =>
          setStates((last) => new Map(last).set(metadata.uid ?? metadata.name, progress)),
        abort.signal,
      );
    } catch (error_) {
      if (abort.signal.aborted || isAbort(error_)) return;
      setFailure(error_);
      setStates(undefined);
    }
  };

  const gone = [...(states?.values() ?? [])].filter(({ kind }) => kind === 'gone').length;
  const total = plan?.evicted.length ?? 0;
  const finished = states !== undefined && gone === total;
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`Drain ${printable(name)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {failure !== undefined && <ErrorBox error={failure} />}
      {plan === undefined && error === undefined && <Loading what="the pods of the node" />}
      {plan !== undefined && states === undefined && (
        <>
          <p>
            The node takes no new pods, and {countOf(total)} evicted. Disruption budgets are
            respected: a pod that may not go now is tried again.
          </p>
          <PodList title="Evicted" pods={plan.evicted} textOf={() => ''} />
          <PodList
            title="Staying"
            pods={plan.staying.map(({ pod }) => pod)}
            textOf={(pod) => plan.staying.find((each) => each.pod === pod)?.reason ?? ''}
          />
          {plan.unmanaged.length > 0 && (
            <Checkbox
              mt="sm"
              label={`${namesOf(plan.unmanaged)}: nothing creates them again`}
              checked={consent.unmanaged}
              onChange={(event) =>
                setConsent({ ...consent, unmanaged: event.currentTarget.checked })
              }
            />
          )}
          {plan.withLocalData.length > 0 && (
            <Checkbox
              mt="sm"
              label={`${namesOf(plan.withLocalData)}: the data of their emptyDir volumes is lost`}
              checked={consent.localData}
              onChange={(event) =>
                setConsent({ ...consent, localData: event.currentTarget.checked })
              }
            />
          )}
          <div className="modal-actions">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              color="red"
              disabled={
                (plan.unmanaged.length > 0 && !consent.unmanaged) ||
                (plan.withLocalData.length > 0 && !consent.localData)
              }
              onClick={() => void start(plan.evicted)}
            >
              Drain
            </Button>
          </div>
        </>
      )}
      {plan !== undefined && states !== undefined && (
        <>
          <Progress
            mb="sm"
            value={total === 0 ? 100 : (gone / total) * 100}
            aria-label="Pods that are gone"
          />
          <p role="status">
            {finished ? 'The node is drained.' : `${gone} of ${total} pods are gone.`}
          </p>
          <PodList
            title="Pods"
            pods={plan.evicted}
            textOf={({ metadata }) => wordsOf(states.get(metadata.uid ?? metadata.name))}
          />
          {[...states.values()].some(({ kind }) => kind === 'failed') && (
            <Alert color="red" mt="sm" title="Some pods could not be evicted" />
          )}
          <div className="modal-actions">
            <Button variant="default" onClick={onClose}>
              {finished ? 'Close' : 'Stop draining'}
            </Button>
          </div>
        </>
      )}
    </Modal>
  );
}

const countOf = (count: number): string => (count === 1 ? '1 pod is' : `${count} pods are`);

function namesOf(pods: readonly KubeObject[]): string {
  const names = pods.slice(0, 3).map(({ metadata }) => printable(metadata.name));
  const more = pods.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function wordsOf(progress: PodProgress | undefined): string {
  switch (progress?.kind) {
    case undefined:
      return 'is next';
    case 'evicting':
      return 'is being evicted';
    case 'ending':
      return 'ends';
    case 'gone':
      return 'is gone';
    case 'waiting':
      return `waits: ${progress.message}`;
    case 'failed':
      return progress.message;
  }
}

function PodList({
  title,
  pods,
  textOf,
}: {
  readonly title: string;
  readonly pods: readonly KubeObject[];
  readonly textOf: (pod: KubeObject) => string;
}): ReactNode {
  if (pods.length === 0) return null;
  return (
    <>
      <h2 className="drain-title">
        {title} ({pods.length})
      </h2>
      <ul className="delete-list">
        {pods.slice(0, SHOWN).map((pod) => {
          const text = textOf(pod);
          const { namespace = '', name, uid } = pod.metadata;
          return (
            <li key={uid}>
              {printable(`${namespace}/${name}`)}
              {text !== '' && <span className="muted"> {printable(text)}</span>}
            </li>
          );
        })}
        {pods.length > SHOWN && <li>and {pods.length - SHOWN} more</li>}
      </ul>
    </>
  );
}
