// metrics-server: an aggregated API of another project, which scrapes the kubelets of simulated
// nodes. kubectl top and an autoscaler read it.

import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from '../harness.ts';
import { listening, type RunningProgram, startProgram } from './processes.ts';
import { missingOperators, operatorPath } from './programs.ts';

/** Endpoints of services may not have loopback addresses. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
const missing =
  missingKubectl ??
  missingOperators(['metrics-server']) ??
  (address === undefined ? 'no address but loopback' : undefined);

const metadata = { name: 'metrics-server', namespace: 'kube-system' };

const registration = (port: number): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ port: 443, targetPort: port }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ port, protocol: 'TCP' }],
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: metadata,
    },
  },
];

/** Each pod requests 100m of CPU, and uses 200m. */
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'busy' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'busy' } },
    template: {
      metadata: { labels: { app: 'busy' }, annotations: { 'simulation.coxswain.dev/cpu': '200m' } },
      spec: {
        containers: [
          {
            name: 'work',
            image: 'busybox',
            command: ['sleep', 'infinity'],
            resources: { requests: { cpu: '100m' } },
          },
        ],
      },
    },
  },
};

describe.skipIf(missing !== undefined)(named('metrics-server', missing), () => {
  const directory = temporaryDir();
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  let program: RunningProgram | undefined;

  beforeAll(async () => {
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '2'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
    const port = await freePort();
    const kubeconfigs = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'];
    program = startProgram(operatorPath('metrics-server'), [
      ...kubeconfigs.map((flag) => `--${flag}=${cluster.kubeconfig}`),
      `--secure-port=${port}`,
      `--cert-dir=${join(directory.path, 'certificates')}`,
      '--kubelet-insecure-tls',
      '--kubelet-use-node-status-port',
      '--kubelet-preferred-address-types=InternalIP',
      '--metric-resolution=15s',
    ]);
    await listening(port, program);
    const input = [...registration(port), deployment]
      .map((object) => stringify(object))
      .join('---\n');
    const { status, stderr } = await kubectl.try('apply -f -', { input });
    expect(status, stderr).toBe(0);
    await kubectl.run(
      'wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=120s',
    );
  });
  afterAll(async () => {
    await program?.stop();
    await cluster?.stop();
    directory.remove();
  });

  test('kubectl top shows nodes and pods', async () => {
    await eventually(
      'all nodes are measured',
      async () => (await kubectl.try('top nodes --no-headers')).stdout.split('\n').length === 3,
      90_000,
    );
    await eventually(
      'the pod is measured',
      async () =>
        /^busy-\S+\s+20\dm|^busy-\S+\s+19\dm/.test(
          (await kubectl.try('top pods --no-headers')).stdout,
        ),
      90_000,
    );
  });

  test('an autoscaler reads the metrics', async () => {
    await kubectl.run('autoscale deployment busy --cpu-percent=100 --min=1 --max=4');
    await eventually(
      'the deployment has two pods at least',
      async () =>
        Number(await kubectl.run('get deployment busy -o jsonpath={.spec.replicas}')) >= 2,
      120_000,
    );
  });

  test('its kinds are in discovery and OpenAPI', async () => {
    expect(await kubectl.run('api-resources --api-group=metrics.k8s.io -o name')).toBe(
      'nodes.metrics.k8s.io\npods.metrics.k8s.io\n',
    );
    expect(await kubectl.run('explain pods --api-version=metrics.k8s.io/v1beta1')).toContain(
      'KIND:       PodMetrics',
    );
  });
});
