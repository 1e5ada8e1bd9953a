// Deletes the selected objects after a confirmation that names them, and says what could not be
// deleted.

import { Alert, Button, Checkbox, Modal, Progress, Select, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Api } from '../data/server/api.ts';
import { isNotFound, messageOf } from '../data/server/api-error.ts';
import { pluralTitle } from '../data/lists/categories.ts';
import { printable } from '../data/text/printable.ts';
import { objectPath, type ResourceType } from '../data/server/resource-type.ts';
import { useServices } from '../services.ts';

export interface DeleteTarget {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Requests that are in flight at the same time. */
const PARALLEL = 8;
/** This number of objects, and more, is confirmed by typing it. */
const TYPED_CONFIRMATION = 20;
const SHOWN = 100;

interface Failure {
  readonly target: DeleteTarget;
  readonly message: string;
}

interface DeleteOptions {
  readonly propagationPolicy: string;
  readonly gracePeriodSeconds?: number;
}

/** Deletes the targets, each only if it is still the same object. Objects that are gone count as deleted. */
async function deleteAll(
  api: Api,
  type: ResourceType,
  targets: readonly DeleteTarget[],
  options: DeleteOptions,
  onProgress: (done: number) => void,
): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  const queue = [...targets];
  let done = 0;
  const work = async (): Promise<void> => {
    for (let target = queue.shift(); target !== undefined; target = queue.shift()) {
      try {
        await api.request(objectPath(type, target.namespace, target.name), {
          method: 'DELETE',
          body: {
            kind: 'DeleteOptions',
            apiVersion: 'v1',
            preconditions: { uid: target.uid },
            ...options,
          },
        });
      } catch (error) {
        if (!isNotFound(error)) failures.push({ target, message: messageOf(error) });
      }
      onProgress((done += 1));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return failures;
}

export function BulkDelete({
  type,
  rows,
  onClose,
}: {
  readonly type: ResourceType;
  readonly rows: readonly DeleteTarget[];
  /** `deleted`: at least one object was. */
  readonly onClose: (deleted: boolean) => void;
}): ReactNode {
  const { api } = useServices();
  const [targets] = useState(rows);
  const [policy, setPolicy] = useState<string>('Background');
  const [force, setForce] = useState(false);
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<number>();
  const [failures, setFailures] = useState<readonly Failure[]>();
  const typing = targets.length >= TYPED_CONFIRMATION;
  const title =
    targets.length === 1
      ? `Delete ${type.kind} ${printable(targets[0]?.name ?? '')}?`
      : `Delete ${targets.length} ${pluralTitle(type)}?`;

  const start = async (): Promise<void> => {
    setDone(0);
    const failed = await deleteAll(
      api,
      type,
      targets,
      { propagationPolicy: policy, ...(force && { gracePeriodSeconds: 0 }) },
      setDone,
    );
    if (failed.length === 0) onClose(true);
    else setFailures(failed);
  };

  return (
    <Modal
      opened
      onClose={() => onClose(failures !== undefined)}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {failures !== undefined ? (
        <Alert color="red" title={`${failures.length} of ${targets.length} were not deleted`}>
          <ul className="plain-list">
            {failures.slice(0, SHOWN).map(({ target, message }) => (
              <li key={target.uid}>
                <strong>{printable(target.name)}</strong>: {printable(message)}
              </li>
            ))}
          </ul>
        </Alert>
      ) : (
        <>
          <ul className="delete-list">
            {targets.slice(0, SHOWN).map(({ uid, namespace, name }) => (
              <li key={uid}>{printable(namespace === '' ? name : `${namespace}/${name}`)}</li>
            ))}
            {targets.length > SHOWN && <li>and {targets.length - SHOWN} more</li>}
          </ul>
          <Select
            mt="sm"
            label="Objects that they own"
            value={policy}
            allowDeselect={false}
            onChange={(value) => setPolicy(value ?? 'Background')}
            data={[
              { value: 'Background', label: 'are deleted afterwards' },
              { value: 'Foreground', label: 'are deleted first' },
              { value: 'Orphan', label: 'stay' },
            ]}
          />
          {type.resource === 'pods' && type.group === '' && (
            <Checkbox
              mt="sm"
              label="Kill at once, without the grace period"
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
            />
          )}
          {typing && (
            <TextInput
              mt="sm"
              label={`Type ${targets.length} to confirm`}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          )}
          {done !== undefined && (
            <Progress
              mt="md"
              value={(done / Math.max(1, targets.length)) * 100}
              aria-label="Deleted"
            />
          )}
          <div className="modal-actions">
            <Button variant="default" onClick={() => onClose(false)} disabled={done !== undefined}>
              Cancel
            </Button>
            <Button
              color="red"
              loading={done !== undefined}
              disabled={typing && typed !== String(targets.length)}
              onClick={() => void start()}
              data-autofocus={typing ? undefined : true}
            >
              Delete
            </Button>
          </div>
        </>
      )}
    </Modal>
  );
}
