// The client library of the Kubernetes project for JavaScript works against an embedded cluster,
// with a port and without one.

import { createRequire } from 'node:module';
import { PassThrough, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { startCluster, type EmbeddedCluster } from '#cluster/index.ts';

const LIBRARY = '@kubernetes/client-node';

/** The parts of the library that are used here. */
interface ClientNode {
  readonly KubeConfig: new () => Config;
  readonly CoreV1Api: unknown;
  readonly Exec: new (config: Config) => {
    exec(...args: readonly unknown[]): Promise<unknown>;
  };
  readonly Watch: new (config: Config) => {
    watch(
      path: string,
      query: object,
      onEvent: (type: string, object: { metadata: { name: string } }) => void,
      onEnd: (error: unknown) => void,
    ): Promise<{ abort(): void }>;
  };
}

interface Config {
  loadFromFile(path: string): void;
  loadFromClusterAndUser(cluster: object, user: object): void;
  makeApiClient(api: unknown): {
    readNamespacedConfigMap(request: object): Promise<{ data?: Record<string, string> }>;
    createNamespacedConfigMap(request: object): Promise<unknown>;
    readNamespacedPodLog(request: object): Promise<string>;
  };
}

function library(): Promise<ClientNode> | undefined {
  let path: string;
  try {
    path = createRequire(import.meta.url).resolve(LIBRARY);
  } catch {
    return undefined;
  }
  return import(pathToFileURL(path).href) as Promise<ClientNode>;
}

const loaded = library();

describe.skipIf(loaded === undefined)(
  `${LIBRARY} (skipped where neither the project nor NODE_PATH has it)`,
  () => {
    let cluster: EmbeddedCluster | undefined;
    afterEach(() => cluster?.stop());

    async function use(config: Config, running: EmbeddedCluster): Promise<void> {
      const { CoreV1Api, Exec, Watch } = (await loaded) as ClientNode;
      const core = config.makeApiClient(CoreV1Api);
      const body = { metadata: { name: 'settings' }, data: { a: 'b' } };
      await core.createNamespacedConfigMap({ namespace: 'default', body });
      expect(
        (await core.readNamespacedConfigMap({ namespace: 'default', name: 'settings' })).data,
      ).toEqual({ a: 'b' });
      await expect(
        core.readNamespacedConfigMap({ namespace: 'default', name: 'none' }),
      ).rejects.toMatchObject({
        code: 404,
      });

      let found!: (type: string) => void;
      const seen = new Promise<string>((resolve) => (found = resolve));
      const path = '/api/v1/namespaces/default/configmaps';
      const onEvent = (type: string, { metadata }: { metadata: { name: string } }): void => {
        if (metadata.name === 'settings') found(type);
      };
      const watch = await new Watch(config).watch(path, {}, onEvent, () => undefined);
      expect(await seen).toBe('ADDED');
      watch.abort();

      const command = ['sh', '-c', 'echo logged; sleep 1d'];
      const spec = { containers: [{ name: 'c', image: 'busybox', command }] };
      await running.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
      await running.waitFor(pods, 'p', 'Ready');
      expect(await core.readNamespacedPodLog({ namespace: 'default', name: 'p' })).toBe('logged\n');
      let output = '';
      const stdout = new Writable({
        write(chunk, _encoding, done) {
          output += String(chunk);
          done();
        },
      });
      const status = await new Promise((resolve, reject) => {
        const args = [
          'default',
          'p',
          'c',
          ['echo', 'hello'],
          stdout,
          new PassThrough(),
          null,
          false,
          resolve,
        ];
        new Exec(config).exec(...args).catch(reject);
      });
      expect([status, output]).toEqual([expect.objectContaining({ status: 'Success' }), 'hello\n']);
    }

    test('with a port, by the kubeconfig', async () => {
      cluster = await startCluster({ port: 0 });
      const { KubeConfig } = (await loaded) as ClientNode;
      const config = new KubeConfig();
      config.loadFromFile(cluster.kubeconfigPath as string);
      await use(config, cluster);
    });

    test('without a port, by the agent', async () => {
      cluster = await startCluster();
      const { agent } = cluster;
      const { KubeConfig } = (await loaded) as ClientNode;
      const config = new KubeConfig();
      config.loadFromClusterAndUser(
        { name: 'embedded', server: 'http://coxswain', skipTLSVerify: true },
        { name: 'admin' },
      );
      await use(Object.assign(config, { createAgent: () => agent }), cluster);
    });
  },
);
