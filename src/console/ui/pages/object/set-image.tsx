// New images for the containers of a workload.

import { Button, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { imagePatch, type Patch } from '../../data/actions/rollout.ts';

interface Container {
  readonly name: string;
  readonly image?: string;
}

export function SetImage({
  object,
  onClose,
  onPatch,
}: {
  readonly object: KubeObject;
  readonly onClose: () => void;
  readonly onPatch: (patch: Patch) => void;
}): ReactNode {
  const template = object.spec?.['template'] as
    | { readonly spec?: { readonly containers?: readonly Container[] } }
    | undefined;
  const [containers] = useState(template?.spec?.containers ?? []);
  const [images, setImages] = useState<Readonly<Record<string, string>>>({});
  const changed = containers.flatMap(({ name, image }) => {
    const next = images[name]?.trim() ?? image ?? '';
    return next === image || next === '' ? [] : [[name, next] as const];
  });
  return (
    <Modal opened onClose={onClose} title="Images" closeButtonProps={{ 'aria-label': 'Close' }}>
      {containers.map(({ name, image = '' }, index) => (
        <TextInput
          key={name}
          mt={index === 0 ? undefined : 'sm'}
          label={printable(name)}
          value={images[name] ?? image}
          onChange={(event) => setImages({ ...images, [name]: event.currentTarget.value })}
          data-autofocus={index === 0 ? true : undefined}
        />
      ))}
      <div className="modal-actions">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={changed.length === 0}
          onClick={() => onPatch(imagePatch(Object.fromEntries(changed)))}
        >
          Set images
        </Button>
      </div>
    </Modal>
  );
}
