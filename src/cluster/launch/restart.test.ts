import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { nodes, pods, type Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { launch, type LaunchedCluster } from './launch.ts';

const NODES = 4;
const PODS = 12;

const cleanup: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

interface Life {
  readonly cluster: LaunchedCluster;
  readonly client: Client;
  readonly progress: readonly string[];
}

async function start(dataDir: string): Promise<Life> {
  const progress: string[] = [];
  const cluster = await launch({
    dataDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    store: 'embedded',
    runtime: 'simulated',
    nodes: NODES,
    serviceCidr: '10.96.0.0/16',
    install: false,
    logger: silentLogger,
    progress: (step, count) => progress.push(count === undefined ? step : `${step}: ${count}`),
    signal: new AbortController().signal,
  });
  cleanup.push(() => cluster.stop());
  const { server, caCertificate, clientCertificate, clientKey } = cluster.kubeconfigEntry;
  const transport = createHttpTransport({
    clock: systemClock,
    server,
    ca: caCertificate,
    clientCertificate,
    clientKey,
  });
  cleanup.push(() => transport.close());
  return { cluster, client: createClient(transport), progress };
}

const isRunning = ({ status }: Immutable<Pod>): boolean =>
  status.phase === 'Running' &&
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

describe('a restart with simulated nodes', () => {
  test(
    'finds the containers that it left: no pod is written, and none starts again',
    { timeout: 240_000 },
    async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-restart-'));
      cleanup.push(() => rmSync(dataDir, { recursive: true, force: true }));
      const first = await start(dataDir);
      const labels = { app: 'web' };
      await first.client
        .resource(deployments)
        .namespace('default')
        .create({
          metadata: { name: 'web' },
          spec: {
            replicas: PODS,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: { containers: [{ name: 'c', image: 'registry.k8s.io/pause:3.10' }] },
            },
          },
        });
      let before: readonly Immutable<Pod>[] = [];
      let resourceVersion = '';
      await wait.pollImmediately(
        { clock: systemClock, intervalMs: 50, timeoutMs: 110_000 },
        async () => {
          const list = await first.client.resource(pods).namespace('default').list();
          before = list.items;
          ({ resourceVersion } = list.metadata);
          return before.length === PODS && before.every(isRunning);
        },
      );
      expect(new Set(before.map(({ spec }) => spec.nodeName)).size).toBe(NODES);
      await first.cluster.stop();

      const second = await start(dataDir);
      expect(second.progress).toContain(`starting nodes: ${NODES} of ${NODES}`);
      const since = await second.client
        .resource(pods)
        .watch({ resourceVersion, timeoutSeconds: 300 });
      const changed: string[] = [];
      const following = (async () => {
        for await (const { type, object } of since)
          if (type !== 'BOOKMARK') changed.push(`${type} ${object.metadata.name}`);
      })();
      // A pod that is created now runs on each node: all kubelets have gone through the pods that they had.
      const { items } = await second.client.resource(nodes).list();
      for (const { metadata } of items) {
        const pod = {
          metadata: { name: metadata.name },
          spec: { nodeName: metadata.name, containers: [{ name: 'c', image: 'i' }] },
        };
        await second.client.resource(pods).namespace('kube-system').create(pod);
      }
      await wait.pollImmediately(
        { clock: systemClock, intervalMs: 50, timeoutMs: 110_000 },
        async () => {
          const list = await second.client.resource(pods).namespace('kube-system').list();
          return list.items.length === NODES && list.items.every(isRunning);
        },
      );
      const after = (await second.client.resource(pods).namespace('default').list()).items;
      expect(after).toEqual(before);
      since.stop();
      await following;
      expect(changed.filter((change) => change.includes(' web-'))).toEqual([]);
    },
  );
});
