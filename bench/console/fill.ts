// Fills the store of a cluster before it starts: nodes, and running pods as kubelets report them.
// Writing the store takes seconds where the API would take many minutes.

import { encodeForStorage } from '#api/machinery/codec/storage-codec.ts';
import { dataDirLayout } from '#cluster/data-dir/data-dir.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';

export const NAMESPACE = 'bench';

export interface FillConfig {
  readonly dataDir: string;
  readonly nodes: number;
  readonly pods: number;
}

/** Writes that wait for the disk at a time: they share a transaction. */
const BATCH = 2000;

export const podName = (n: number): string => `pod-${String(n).padStart(6, '0')}`;
const nodeName = (n: number): string => `node-${String(n).padStart(5, '0')}`;

export async function fillStore({ dataDir, nodes, pods }: FillConfig): Promise<void> {
  const logger = createLogger({ format: 'text', level: 'warn', destination: process.stderr });
  const storage = await openEmbeddedStorage({
    clock: systemClock,
    logger,
    dataDir: dataDirLayout(dataDir).store,
  });
  const createAll = async (
    count: number,
    entry: (n: number) => [string, object],
  ): Promise<void> => {
    for (let from = 0; from < count; from += BATCH) {
      const end = Math.min(count, from + BATCH);
      await Promise.all(
        Array.from({ length: end - from }, (_, n) => {
          const [key, object] = entry(from + n);
          return storage.create(key, encodeForStorage(object));
        }),
      );
    }
  };
  try {
    await createAll(1, () => [`/registry/namespaces/${NAMESPACE}`, namespace()]);
    await createAll(nodes, (n) => [`/registry/minions/${nodeName(n)}`, node(nodeName(n))]);
    await createAll(pods, (n) => [
      `/registry/pods/${NAMESPACE}/${podName(n)}`,
      pod(n, nodeName(n % nodes)),
    ]);
  } finally {
    await storage.close();
  }
}

const BEGAN_MS = systemClock.now();
const HOUR_MS = 3_600_000;
const timeBefore = (ms: number): string =>
  new Date(BEGAN_MS - ms).toISOString().replace(/\.\d+Z$/, 'Z');

const metadata = (name: string, more: object = {}): object => ({
  name,
  uid: systemRandom.uuid(),
  creationTimestamp: timeBefore(HOUR_MS),
  ...more,
});

// Stored objects begin with their kind and apiVersion, in this order.
const namespace = (): object => ({
  kind: 'Namespace',
  apiVersion: 'v1',
  metadata: metadata(NAMESPACE, { labels: { 'kubernetes.io/metadata.name': NAMESPACE } }),
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

const node = (name: string): object => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: metadata(name, { labels: { 'kubernetes.io/hostname': name } }),
  spec: {},
  status: {
    capacity: { cpu: '8', memory: '32Gi', pods: '110' },
    allocatable: { cpu: '8', memory: '32Gi', pods: '110' },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
        lastHeartbeatTime: timeBefore(0),
        lastTransitionTime: timeBefore(HOUR_MS),
      },
    ],
  },
});

/** The fields that a kubelet owns: most of an object's metadata. */
const STATUS_FIELDS = {
  'f:status': {
    'f:conditions': Object.fromEntries(
      ['ContainersReady', 'Initialized', 'Ready'].map((type) => [
        `k:{"type":"${type}"}`,
        {
          '.': {},
          'f:lastProbeTime': {},
          'f:lastTransitionTime': {},
          'f:status': {},
          'f:type': {},
        },
      ]),
    ),
    'f:containerStatuses': {},
    'f:hostIP': {},
    'f:phase': {},
    'f:podIP': {},
    'f:podIPs': { '.': {}, 'k:{"ip":"10.0.0.1"}': { '.': {}, 'f:ip': {} } },
    'f:startTime': {},
  },
};

function pod(n: number, nodeOfPod: string): object {
  const created = timeBefore((n % 86_400) * 1000);
  const ip = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  const app = `app-${n % 100}`;
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: podName(n),
      namespace: NAMESPACE,
      uid: systemRandom.uuid(),
      creationTimestamp: created,
      labels: { app, tier: n % 2 === 1 ? 'a' : 'b', 'pod-template-hash': `7f9c${n % 100}` },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-7f9c${n % 100}`,
          uid: `00000000-0000-4000-8000-${String(n % 100).padStart(12, '0')}`,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        {
          manager: 'kubelet',
          operation: 'Update',
          apiVersion: 'v1',
          time: created,
          fieldsType: 'FieldsV1',
          fieldsV1: STATUS_FIELDS,
          subresource: 'status',
        },
      ],
    },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'registry.k8s.io/pause:3.10',
          resources: { requests: { cpu: '10m', memory: '16Mi' } },
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      serviceAccount: 'default',
      nodeName: nodeOfPod,
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
      priority: 0,
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: created,
      })),
      hostIP: '192.168.0.1',
      podIP: ip,
      podIPs: [{ ip }],
      startTime: created,
      qosClass: 'Burstable',
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          started: true,
          restartCount: n % 1000 === 0 ? 3 : 0,
          image: 'registry.k8s.io/pause:3.10',
          imageID: '',
          containerID: `containerd://${n}`,
          state: { running: { startedAt: created } },
        },
      ],
    },
  };
}
