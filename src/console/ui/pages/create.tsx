// Creates an object from YAML, after the server has checked it without effect.

import { Alert, Button, Modal } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import type { KubeObject } from '../data/lists/live-object.ts';
import { apiVersionOf, collectionPath, type ResourceType } from '../data/server/resource-type.ts';
import { objectRoute } from '../data/server/routes.ts';
import { fromYaml, toYaml } from '../data/actions/yaml-text.ts';
import { ErrorBox } from '../parts/basics.tsx';
import { CodeEditor } from '../parts/code-editor.tsx';
import { usePreferences } from '../parts/hooks.ts';
import { useServices } from '../services.ts';

export function CreateObject({
  type,
  onClose,
}: {
  readonly type: ResourceType;
  readonly onClose: () => void;
}): ReactNode {
  const { api } = useServices();
  const { namespace } = usePreferences();
  const [, navigate] = useLocation();
  const [initial] = useState(() => toYaml(skeleton(type, namespace)));
  const [text, setText] = useState(initial);
  const [error, setError] = useState<unknown>();
  const [checked, setChecked] = useState(false);
  const [busy, setBusy] = useState(false);

  const send = async (dryRun: boolean): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const object = fromYaml(text);
      const path = collectionPath(type, object.metadata.namespace ?? 'default');
      const query = `?fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
      const created = await api.json<KubeObject>(`${path}${query}`, {
        method: 'POST',
        body: object,
      });
      if (dryRun) setChecked(true);
      else {
        onClose();
        navigate(objectRoute(type, created.metadata.namespace, created.metadata.name));
      }
    } catch (error_) {
      setError(error_);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={`Create ${type.kind}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className="stack">
        {error !== undefined && <ErrorBox title="The server does not accept this" error={error} />}
        {checked && error === undefined && (
          <Alert color="green">The server would accept this object.</Alert>
        )}
        <CodeEditor
          label={`YAML of the new ${type.kind}`}
          text={initial}
          version={0}
          onChange={(next) => {
            setText(next);
            setChecked(false);
          }}
        />
        <div className="modal-actions">
          <Button variant="default" loading={busy} onClick={() => void send(true)}>
            Check
          </Button>
          <Button loading={busy} onClick={() => void send(false)}>
            Create
          </Button>
        </div>
      </div>
    </Modal>
  );
}

const skeleton = (type: ResourceType, namespace: string): KubeObject => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  metadata: {
    name: 'example',
    ...(type.namespaced && { namespace: namespace === '' ? 'default' : namespace }),
  },
});
