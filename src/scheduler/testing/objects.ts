// Pods and nodes for tests, in the normalized form of informers.

import type {
  Node as CoreNode,
  Pod as CorePod,
  PodSpec,
  PodStatus,
  Taint,
} from '#api/groups/core/v1/index.ts';
import { NodeInfo } from '../framework/node-info.ts';
import type { Node, Pod } from '../framework/objects.ts';
import { PodInfo } from '../framework/pod-info.ts';

export interface PodOptions {
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The requests of the only container. */
  readonly requests?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: Partial<PodStatus>;
  readonly generation?: number;
  readonly deleting?: boolean;
  readonly resourceVersion?: string;
}

export function makePod(name: string, options: PodOptions = {}): Pod {
  const { namespace = 'default', uid = `uid-${name}`, requests, spec, status } = options;
  const pod: CorePod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: options.resourceVersion ?? '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(options.generation !== undefined && { generation: options.generation }),
      ...(options.labels !== undefined && { labels: { ...options.labels } }),
      ...(options.deleting === true && { deletionTimestamp: '2026-01-01T00:01:00Z' }),
    },
    spec: {
      schedulerName: 'default-scheduler',
      containers: [
        {
          name: 'c',
          image: 'image:1',
          resources: requests === undefined ? {} : { requests: { ...requests } },
        },
      ],
      ...spec,
    },
    status: { phase: 'Pending', ...status },
  };
  return pod;
}

export function makePodInfo(name: string, options: PodOptions = {}): PodInfo {
  return new PodInfo(makePod(name, options));
}

export interface NodeOptions {
  readonly declaredFeatures?: readonly string[];
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  readonly images?: readonly { readonly names: readonly string[]; readonly sizeBytes: number }[];
  readonly ready?: boolean;
}

/** Returns a node. Without `allocatable`: 4 cores, 32 GiB, 110 pods. */
export function makeNode(name: string, options: NodeOptions = {}): Node {
  const allocatable = { ...(options.allocatable ?? { cpu: '4', memory: '32Gi', pods: '110' }) };
  const node: CoreNode = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: options.uid ?? `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'kubernetes.io/hostname': name, ...options.labels },
      ...(options.annotations !== undefined && { annotations: { ...options.annotations } }),
    },
    spec: {
      ...(options.taints !== undefined && { taints: [...options.taints] }),
      ...(options.unschedulable === true && { unschedulable: true }),
    },
    status: {
      capacity: { ...allocatable },
      allocatable,
      ...(options.declaredFeatures !== undefined && {
        declaredFeatures: [...options.declaredFeatures],
      }),
      conditions: [
        {
          type: 'Ready',
          status: options.ready === false ? 'False' : 'True',
          lastHeartbeatTime: '2026-01-01T00:00:00Z',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: '',
        systemUUID: '',
        bootID: '',
        kernelVersion: '',
        osImage: '',
        containerRuntimeVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        operatingSystem: '',
        architecture: '',
      },
      ...(options.images !== undefined && {
        images: options.images.map(({ names, sizeBytes }) => ({ names: [...names], sizeBytes })),
      }),
    },
  };
  return node;
}

/** Returns a node with pods on it, outside of any cache. */
export function makeNodeInfo(
  name: string,
  options: NodeOptions = {},
  pods: readonly PodInfo[] = [],
): NodeInfo {
  const info = new NodeInfo(name);
  const node = makeNode(name, options);
  info.setNode(
    node,
    new Map(
      (node.status.images ?? []).flatMap((image) =>
        (image.names ?? []).map(
          (image_) => [image_, { sizeBytes: image.sizeBytes ?? 0, nodes: 1 }] as const,
        ),
      ),
    ),
  );
  for (const pod of pods) info.addPod(pod);
  return info;
}
