// Kueue: queues of jobs, with webhooks of a service, a conversion webhook and an aggregated API,
// beside simulated nodes.

import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from '../harness.ts';
import { type RunningProgram, startProgram } from './processes.ts';
import { missingOperators, operatorPath } from './programs.ts';

/** Endpoints of services may not have loopback addresses. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
const missing =
  missingKubectl ??
  missingOperators(['kueue', 'kueue-chart', 'helm']) ??
  (address === undefined ? 'no address but loopback' : undefined);
const NAMESPACE = 'kueue-system';

const service = (name: string, port: number): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: `${name}-local`,
    namespace: NAMESPACE,
    labels: { 'kubernetes.io/service-name': name },
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ port, protocol: 'TCP', name: name.endsWith('visibility-server') ? 'https' : '' }],
});
const kueue = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'kueue.x-k8s.io/v1beta2',
  kind,
  metadata: { name },
  ...(kind !== 'ResourceFlavor' && { spec }),
});
const clusterQueue = (name: string, quota: string): object =>
  kueue('ClusterQueue', name, {
    namespaceSelector: {},
    resourceGroups: [
      {
        coveredResources: ['cpu'],
        flavors: [{ name: 'default', resources: [{ name: 'cpu', nominalQuota: quota }] }],
      },
    ],
  });
const job = (name: string, cpu: string): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, labels: { 'kueue.x-k8s.io/queue-name': 'queue' } },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [
          {
            name: 'work',
            image: 'busybox',
            command: ['sleep', 'infinity'],
            resources: { requests: { cpu } },
          },
        ],
      },
    },
  },
});

describe.skipIf(missing !== undefined)(named('Kueue', missing), () => {
  const directory = temporaryDir();
  const certificates = join(directory.path, 'certificates');
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  let program: RunningProgram | undefined;

  const helm = async (...args: string[]): Promise<void> => {
    const env = { KUBECONFIG: cluster.kubeconfig, HOME: directory.path };
    const { status, stderr } = await run(operatorPath('helm'), args, { env, timeoutMs: 120_000 });
    expect(status, stderr).toBe(0);
  };
  const apply = (...objects: object[]): ReturnType<Kubectl['try']> =>
    kubectl.try('apply -f -', { input: objects.map((object) => stringify(object)).join('---\n') });
  const succeeds = async (...objects: object[]): Promise<void> => {
    const { status, stderr } = await apply(...objects);
    expect(status, stderr).toBe(0);
  };
  /** Writes the secret's files to the directory where its pod would mount them. */
  const mountCertificates = async (): Promise<boolean> => {
    const secret = JSON.parse(
      await kubectl.run(`get secret kueue-webhook-server-cert -n ${NAMESPACE} -o json`),
    ) as {
      data?: Record<string, string>;
    };
    for (const [file, content] of Object.entries(secret.data ?? {})) {
      writeFileSync(join(certificates, file), Buffer.from(content, 'base64'));
    }
    return secret.data?.['tls.crt'] !== undefined;
  };

  beforeAll(async () => {
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '2'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
    mkdirSync(certificates);
    const flags = ['-n', NAMESPACE, '--create-namespace', '--set', 'controllerManager.replicas=0'];
    await helm('install', 'kueue', operatorPath('kueue-chart'), ...flags);
    const [webhooks, visibility, health] = (await freePorts(3)) as [number, number, number];
    for (const name of ['kueue-webhook-service', 'kueue-visibility-server']) {
      await kubectl.run(
        `patch service ${name} -n ${NAMESPACE} --type=merge -p '{"spec":{"selector":null}}'`,
      );
    }
    await succeeds(
      service('kueue-webhook-service', webhooks),
      service('kueue-visibility-server', visibility),
    );
    const config = join(directory.path, 'config.yaml');
    writeFileSync(
      config,
      stringify({
        apiVersion: 'config.kueue.x-k8s.io/v1beta2',
        kind: 'Configuration',
        namespace: NAMESPACE,
        health: { healthProbeBindAddress: `127.0.0.1:${health}` },
        metrics: { bindAddress: '0' },
        webhook: { port: webhooks, certDir: certificates },
        leaderElection: { leaderElect: false },
        integrations: { frameworks: ['batch/job'] },
      }),
    );
    const args = [
      '--config',
      config,
      '--kubeconfig',
      cluster.kubeconfig,
      '--visibility-server-port',
      String(visibility),
    ];
    program = startProgram(operatorPath('kueue'), args);
    try {
      await eventually('the webhooks have their certificate', mountCertificates);
      await eventually(
        'the webhooks answer',
        async () => {
          await mountCertificates();
          return (await apply(kueue('ResourceFlavor', 'default', {}))).status === 0;
        },
        120_000,
      );
    } catch (error) {
      throw new Error(program.output().slice(-6000), { cause: error });
    }
  });
  afterAll(async () => {
    await program?.stop();
    await cluster?.stop();
    directory.remove();
  });

  test('admits a job that fits and lets the next one wait', async () => {
    await succeeds(clusterQueue('all', '2'), kueue('LocalQueue', 'queue', { clusterQueue: 'all' }));
    await kubectl.run('wait --for=condition=Active clusterqueue/all --timeout=60s');
    await succeeds(job('first', '1500m'));
    await eventually(
      'the first job runs',
      async () => (await kubectl.run('get job first -o jsonpath={.status.active}')) === '1',
    );
    await succeeds(job('second', '1'));
    await eventually('the second job waits', async () => {
      return (
        (await kubectl.run('get clusterqueue all -o jsonpath={.status.pendingWorkloads}')) === '1'
      );
    });
    expect(await kubectl.run('get job second -o jsonpath={.spec.suspend}')).toBe('true');
    expect(await kubectl.run('get workloads')).toMatch(
      /^NAME +QUEUE +RESERVED IN +ADMITTED +FINISHED +AGE\n/,
    );
  });

  test('its aggregated API shows pending jobs', async () => {
    await kubectl.run(
      'wait --for=condition=Available apiservice/v1beta2.visibility.kueue.x-k8s.io --timeout=60s',
    );
    const path = '/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/all/pendingworkloads';
    const { items } = JSON.parse(await kubectl.run(`get --raw ${path}`)) as {
      items: { localQueueName: string }[];
    };
    expect(items.map(({ localQueueName }) => localQueueName)).toEqual(['queue']);
  });

  test('its older version is converted, and invalid queues are rejected', async () => {
    expect(
      await kubectl.run('get clusterqueues.v1beta1.kueue.x-k8s.io all -o jsonpath={.apiVersion}'),
    ).toBe('kueue.x-k8s.io/v1beta1');
    const { status, stderr } = await apply(clusterQueue('wrong', '-1'));
    expect([status, stderr]).toEqual([1, expect.stringContaining('nominalQuota')]);
  });

  test('the next job runs when there is room, and everything can be removed', async () => {
    await kubectl.run('delete job first --timeout=60s');
    await eventually(
      'the second job runs',
      async () => (await kubectl.run('get job second -o jsonpath={.status.active}')) === '1',
    );
    await kubectl.run('delete job second --timeout=60s');
    await eventually(
      'no workloads',
      async () => (await kubectl.run('get workloads -o name')) === '',
    );
    for (const kind of ['localqueue', 'clusterqueue', 'resourceflavor'])
      await kubectl.run(`delete ${kind} --all --timeout=60s`);
    await helm('uninstall', 'kueue', '-n', NAMESPACE);
    await eventually('no definitions', async () => (await kubectl.run('get crd -o name')) === '');
    await kubectl.run(`delete namespace ${NAMESPACE} --timeout=90s`, { timeoutMs: 100_000 });
  });
});
