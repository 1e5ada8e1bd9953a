// A pod that looks into a node: its processes, network and files.

import { Button, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { nodeDebugPod } from '../../data/actions/one-off.ts';
import { printable } from '../../data/text/printable.ts';
import { collectionPath } from '../../data/server/resource-type.ts';
import { objectRoute } from '../../data/server/routes.ts';
import { ErrorBox } from '../../parts/basics.tsx';
import { usePreferences, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

export function NodeDebug({
  node,
  onClose,
}: {
  readonly node: string;
  readonly onClose: () => void;
}): ReactNode {
  const { api } = useServices();
  const types = useTypes();
  const preferences = usePreferences();
  const [, navigate] = useLocation();
  const namespace = preferences.namespace === '' ? 'default' : preferences.namespace;
  const [image, setImage] = useState('busybox');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const create = async (): Promise<void> => {
    const pods = types.byId('pods');
    if (pods === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const { metadata } = await api.json<KubeObject>(collectionPath(pods, namespace), {
        method: 'POST',
        body: nodeDebugPod(node, namespace, image.trim()),
      });
      onClose();
      navigate(objectRoute(pods, namespace, metadata.name, 'terminal'));
    } catch (error_) {
      setError(error_);
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Debug ${printable(node)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p>
        A pod in the namespace {printable(namespace)} gets the processes, the network and the files
        (at <code>/host</code>) of the node. Delete it when you are done.
      </p>
      {error !== undefined && <ErrorBox error={error} />}
      <TextInput
        label="Image"
        value={image}
        onChange={(event) => setImage(event.currentTarget.value)}
        data-autofocus
      />
      <div className="modal-actions">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={busy} disabled={image.trim() === ''} onClick={() => void create()}>
          Create the pod
        </Button>
      </div>
    </Modal>
  );
}
