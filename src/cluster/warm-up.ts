// A short life of a cluster, for `cox compile`: it starts with nothing there, some pods run, are changed and go, it stops, and starts
// again on what it left. What Node has compiled by then is what a cluster needs from its first second on.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deployments } from '../api/apps/v1/index.ts';
import { configMaps, pods, services } from '../api/core/v1/index.ts';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/create-client.ts';
import { createHttpTransport } from '../client/http/index.ts';
import { systemClock } from '../machinery/clock.ts';
import { silentLogger } from '../machinery/log.ts';
import * as wait from '../machinery/wait.ts';
import { launch, type LaunchedCluster, type StoreChoice } from './launch.ts';

const TIMEOUT_MS = 60_000;
const PODS = 5;

/** Nothing of it stays. Rejects if the cluster does not do what it should. */
export async function warmUp(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'coxswain-compile-'));
  try {
    // Each store that needs nothing else; the certificates are made by the first, and read by the second.
    for (const store of ['memory', 'embedded'] as const) {
      const cluster = await start(dataDir, store);
      try {
        await use(clientOf(cluster));
      } finally {
        await cluster.stop();
      }
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

const start = (dataDir: string, store: StoreChoice): Promise<LaunchedCluster> =>
  launch({
    dataDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    store,
    runtime: 'simulated',
    nodes: 1,
    podCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/16',
    install: false,
    logger: silentLogger,
    progress: () => undefined,
    signal: new AbortController().signal,
  });

function clientOf({ url, kubeconfigEntry }: LaunchedCluster): Client {
  const { caCertificate, clientCertificate, clientKey } = kubeconfigEntry;
  return createClient(createHttpTransport({ server: url, ca: caCertificate, clientCertificate, clientKey, clock: systemClock }));
}

/** What most people do first. */
async function use(client: Client): Promise<void> {
  const metadata = { name: 'warm-up', namespace: 'default' };
  const labels = { app: metadata.name };
  const maps = client.resource(configMaps).namespace(metadata.namespace);
  await maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: 'value' } });
  await maps.patch(metadata.name, 'application/merge-patch+json', { data: { key: 'another' } });

  const inNamespace = client.resource(deployments).namespace(metadata.namespace);
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] } },
    },
  };
  const apply = { fieldManager: 'warm-up', force: true };
  await inNamespace.patch(metadata.name, 'application/apply-patch+yaml', deployment, apply);
  await client
    .resource(services)
    .namespace(metadata.namespace)
    .create({ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports: [{ port: 80 }] } });
  await inNamespace.patch(metadata.name, 'application/strategic-merge-patch+json', { spec: { replicas: PODS } });
  await until(async () => (await inNamespace.get(metadata.name)).status.readyReplicas === PODS);

  await inNamespace.delete(metadata.name, { propagationPolicy: 'Background' });
  const remaining = client.resource(pods).namespace(metadata.namespace);
  await until(async () => (await remaining.list({ labelSelector: `app=${metadata.name}` })).items.length === 0);
}

const until = (condition: wait.Condition): Promise<unknown> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs: TIMEOUT_MS }, condition);
