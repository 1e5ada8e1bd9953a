// Pods of a given size, as they are stored.

import { ObjectFormat } from '#apiserver/registry/encoded-object.ts';

const NODES = 500;
const format = new ObjectFormat('v1', 'Pod');

export function podKey(index: number): string {
  return `/registry/pods/ns-${index % 100}/pod-${String(index).padStart(6, '0')}`;
}

/** Returns a pod's JSON of about `bytes` bytes. `serial` makes every version different. */
export function podValue(index: number, bytes: number, serial = 0): Uint8Array {
  const pod = {
    metadata: {
      name: `pod-${String(index).padStart(6, '0')}`,
      namespace: `ns-${index % 100}`,
      resourceVersion: '',
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: `app-${index % 50}` },
      annotations: { serial: String(serial), filler: '' },
    },
    spec: {
      containers: [{ name: 'main', image: 'registry.example/app:1', resources: {} }],
      nodeName: `node-${index % NODES}`,
    },
    status: { phase: 'Running' },
  };
  const missing = bytes - JSON.stringify(pod).length;
  pod.metadata.annotations.filler = 'x'.repeat(Math.max(0, missing));
  return format.encode(pod);
}
