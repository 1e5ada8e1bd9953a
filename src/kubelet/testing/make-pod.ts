// Pods and runtime statuses for tests.

import {
  type ContainerRecord,
  fingerprintOf,
  type RuntimePodStatus,
  type SandboxRecord,
} from '../pod/pod-status.ts';
import { hashContainer } from '../runtime/labels.ts';
import type { Container, Pod, PodSpec, PodStatus } from '../types.ts';

export function makeContainer(name: string, overrides: Partial<Container> = {}): Container {
  return {
    name,
    image: 'busybox:1.36',
    imagePullPolicy: 'IfNotPresent',
    resources: {},
    ...overrides,
  };
}

export interface PodOverrides {
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: PodStatus;
}

export function makePod(overrides: PodOverrides = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'uid-1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
      ...overrides.metadata,
    },
    spec: {
      containers: [makeContainer('main')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      nodeName: 'node',
      ...overrides.spec,
    },
    status: overrides.status ?? { phase: 'Pending' },
  };
}

export function makeRecord(
  name: string,
  overrides: Partial<ContainerRecord> = {},
): ContainerRecord {
  const createdAt = overrides.createdAt ?? Date.UTC(2026, 0, 1, 0, 0, 1);
  return {
    id: `${name}-id`,
    name,
    sandboxId: 'sandbox-0',
    state: 'running',
    createdAt,
    startedAt: createdAt,
    finishedAt: overrides.state === 'exited' ? createdAt + 1000 : 0,
    exitCode: 0,
    reason: overrides.state === 'exited' ? (overrides.exitCode ? 'Error' : 'Completed') : '',
    message: '',
    image: 'docker.io/library/busybox:1.36',
    imageRef: 'docker.io/library/busybox@sha256:abc',
    hash: hashContainer(makeContainer(name)),
    restartCount: 0,
    logPath: '',
    gracePeriodSeconds: undefined,
    user: undefined,
    stopSignal: undefined,
    ...overrides,
  };
}

export function makeSandbox(overrides: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: 'sandbox-0',
    attempt: 0,
    ready: true,
    createdAt: 1,
    ips: ['10.0.0.2'],
    hostNetwork: false,
    ...overrides,
  };
}

/** Returns a status. Containers and sandboxes: newest first. */
export function makeStatus(
  containers: readonly ContainerRecord[],
  sandboxes: readonly SandboxRecord[] = [makeSandbox()],
): RuntimePodStatus {
  return {
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    sandboxes,
    containers,
    fingerprint: fingerprintOf(sandboxes, containers),
  };
}
