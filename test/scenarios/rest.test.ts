// A cluster in its desired state does not write to its store: with a thousand objects of all kinds
// that controllers look after, only nodes write (their leases and statuses) for hours.

import { expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '#cluster/index.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { WriteCounter } from '#cluster/embedded/transcript/write-counter.ts';

const NAMESPACES = ['one', 'two', 'three', 'four'];

const spec = {
  containers: [
    { name: 'c', image: 'busybox:1.36', resources: { requests: { cpu: '10m', memory: '16Mi' } } },
  ],
};
const template = (app: string) => ({ metadata: { labels: { app } }, spec });
const workload = (app: string, replicas: number) => ({
  replicas,
  selector: { matchLabels: { app } },
  template: template(app),
});

/** Returns the objects of one namespace. */
function objects(namespace: string): object[] {
  const many = (count: number, make: (name: string, index: number) => object): object[] =>
    Array.from({ length: count }, (_, index) => make(`n${index}`, index));
  const metadata = (name: string, more: object = {}) => ({ name, namespace, ...more });
  const core = (kind: string, name: string, rest: object, apiVersion = 'v1') => ({
    apiVersion,
    kind,
    metadata: metadata(name),
    ...rest,
  });
  const jobTemplate = { spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...many(40, (name) => core('ConfigMap', name, { data: { a: 'b' } })),
    ...many(20, (name) => core('Secret', name, { stringData: { a: 'b' } })),
    ...many(5, (name) => core('ServiceAccount', name, {})),
    ...many(12, (name) =>
      core('Deployment', name, { spec: workload(`deploy-${name}`, 2) }, 'apps/v1'),
    ),
    ...many(2, (name) =>
      core('ReplicationController', name, {
        spec: { replicas: 1, selector: { app: `rc-${name}` }, template: template(`rc-${name}`) },
      }),
    ),
    ...many(3, (name) =>
      core(
        'StatefulSet',
        `set-${name}`,
        { spec: { ...workload(`set-${name}`, 2), serviceName: name } },
        'apps/v1',
      ),
    ),
    ...many(2, (name) =>
      core(
        'DaemonSet',
        name,
        {
          spec: {
            selector: { matchLabels: { app: `ds-${name}` } },
            template: template(`ds-${name}`),
          },
        },
        'apps/v1',
      ),
    ),
    ...many(5, (name) =>
      core('Job', name, { spec: { suspend: true, ...jobTemplate.spec } }, 'batch/v1'),
    ),
    ...many(5, (name) =>
      core(
        'CronJob',
        name,
        { spec: { schedule: '* * * * *', suspend: true, jobTemplate } },
        'batch/v1',
      ),
    ),
    ...many(15, (name) =>
      core('Service', name, {
        spec: { selector: { app: `deploy-${name}` }, ports: [{ port: 80 }] },
      }),
    ),
    ...many(6, (name, index) =>
      core(
        'PodDisruptionBudget',
        name,
        {
          spec: {
            [index % 2 ? 'minAvailable' : 'maxUnavailable']: 1,
            selector: { matchLabels: { app: `deploy-${name}` } },
          },
        },
        'policy/v1',
      ),
    ),
    ...many(4, (name) =>
      core(
        'HorizontalPodAutoscaler',
        name,
        {
          spec: {
            scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
            minReplicas: 1,
            maxReplicas: 3,
          },
        },
        'autoscaling/v2',
      ),
    ),
    core('ResourceQuota', 'q', { spec: { hard: { pods: '100', configmaps: '200' } } }),
    core('LimitRange', 'l', { spec: { limits: [{ type: 'Container', min: { cpu: '1m' } }] } }),
    ...many(5, (name) =>
      core(
        'Role',
        name,
        { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
        'rbac.authorization.k8s.io/v1',
      ),
    ),
    ...many(3, (name) =>
      core('NetworkPolicy', name, { spec: { podSelector: {} } }, 'networking.k8s.io/v1'),
    ),
    ...many(2, (name) =>
      core(
        'Ingress',
        name,
        { spec: { defaultBackend: { service: { name, port: { number: 80 } } } } },
        'networking.k8s.io/v1',
      ),
    ),
    core('PersistentVolumeClaim', 'waits', {
      spec: {
        storageClassName: 'nobody',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    }),
  ];
}

async function countAll(cluster: EmbeddedCluster): Promise<number> {
  const { transport } = cluster.client;
  const request = <T>(path: string) => transport.request<T>({ method: 'GET', path });
  const { groups } = await request<{ groups: { preferredVersion: { groupVersion: string } }[] }>(
    '/apis',
  );
  let count = 0;
  for (const path of [
    '/api/v1',
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ]) {
    const { resources } = await request<{ resources: { name: string; verbs: string[] }[] }>(path);
    for (const { name, verbs } of resources) {
      if (verbs.includes('watch') && name !== 'events')
        count += (await request<{ items: unknown[] }>(`${path}/${name}`)).items.length;
    }
  }
  return count;
}

test('a thousand objects at rest are left alone', { timeout: 240_000 }, async () => {
  const cluster = await startCluster({
    clock: 'virtual',
    nodes: 4,
    seed: 'rest',
    nodeCapacity: { cpu: '8', memory: '32Gi', pods: '110' },
  });
  try {
    for (const namespace of NAMESPACES) await cluster.apply(objects(namespace));
    // Waits until the events of the start have expired, too.
    await cluster.clock.advance('70m');
    expect(await countAll(cluster)).toBeGreaterThan(1000);
    const counter = await WriteCounter.start(cluster.client);
    await cluster.clock.advance(partOrWhole('30m', '2h'));
    const lines = (await counter.stop())
      .split('\n')
      .map((line) => line.split(/ +/).slice(0, 2).join(' '));
    expect(lines).toEqual(['RESOURCE EVENT', 'leases MODIFIED', 'nodes MODIFIED']);
  } finally {
    await cluster.stop();
  }
});
