// An API server of another project behind ours: upstream's sample-apiserver, built from its Go
// module, runs as a process of its own. It authenticates and authorizes requests by our server.
// kubectl works with its kinds as with built-in ones.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeServer } from '#apiserver/aggregator/testing/fake-server.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { findProgram } from '#cluster/machine/install.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcd,
} from '#storage/etcd/testing/etcd-process.ts';
import { cacheDir, goBuild, requiredVersion } from '../conformance/binaries.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

/** EndpointSlices cannot have the loopback address. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

const missing =
  missingKubectl ??
  (hasEtcd() ? undefined : ETCD_HINT) ??
  (findProgram('go') === undefined ? 'go is not installed' : undefined) ??
  (address === undefined ? 'this machine has only a loopback address' : undefined);

const built = missing === undefined ? buildSampleApiServer() : { path: '', missing };

/** Builds the program in the cache of the conformance suite, whose go.mod has its module. */
function buildSampleApiServer(): { readonly path: string; readonly missing: string | undefined } {
  const dir = cacheDir(requiredVersion());
  const path = join(dir, 'sample-apiserver');
  try {
    mkdirSync(dir, { recursive: true });
    if (!existsSync(path)) goBuild('k8s.io/sample-apiserver', path);
    return { path, missing: undefined };
  } catch (error) {
    return { path, missing: (error as Error).message };
  }
}

const GROUP = 'wardle.example.com';

const apiService = (version: string): string => `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: ${version}.${GROUP} }
spec:
  group: ${GROUP}
  version: ${version}
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: { name: api, namespace: wardle }
---`;

const manifest = (port: number): string => `
apiVersion: v1
kind: Namespace
metadata: { name: wardle }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: wardle }
spec:
  ports: [{ port: 443, targetPort: ${port} }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: api
  namespace: wardle
  labels: { kubernetes.io/service-name: api }
addressType: IPv4
endpoints: [{ addresses: ['${address}'] }]
ports: [{ name: '', port: ${port} }]
---
${apiService('v1alpha1')}
${apiService('v1beta1')}
`;

const metricsManifest = (port: number): string => `
apiVersion: v1
kind: Service
metadata: { name: metrics, namespace: wardle }
spec:
  ports: [{ port: 443, targetPort: ${port} }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: metrics
  namespace: wardle
  labels: { kubernetes.io/service-name: metrics }
addressType: IPv4
endpoints: [{ addresses: ['${address}'] }]
ports: [{ name: '', port: ${port} }]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1beta1.metrics.k8s.io }
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: { name: metrics, namespace: wardle }
`;

const flunder = (name: string, more = ''): string => `
apiVersion: ${GROUP}/v1alpha1
kind: Flunder
metadata: { name: ${name}${more} }
spec: { reference: one }
`;

describe.skipIf(built.missing !== undefined)(
  named('an aggregated API server', built.missing),
  () => {
    const dir = temporaryDir();
    let cluster: RunningCluster;
    let etcd: EtcdProcess;
    let sample: ChildProcess | undefined;
    let kubectl: Kubectl;
    let port: number;
    let output = '';

    const startSample = async (): Promise<void> => {
      const config = `--kubeconfig=${cluster.kubeconfig}`;
      const delegated = ['authentication', 'authorization'].map(
        (what) => `--${what}-kubeconfig=${cluster.kubeconfig}`,
      );
      const args = [
        `--etcd-servers=${etcd.endpoint}`,
        `--secure-port=${port}`,
        `--cert-dir=${join(dir.path, 'sample')}`,
      ];
      sample = spawn(built.path, [...args, config, ...delegated], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      sample.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
      await eventually('sample-apiserver serves', async () => output.includes('Serving securely'));
    };

    const stopSample = async (): Promise<void> => {
      const ended = new Promise((resolve) => sample?.once('exit', resolve));
      sample?.kill('SIGKILL');
      await ended;
      sample = undefined;
      output = '';
    };

    const availability = async (version = 'v1alpha1'): Promise<string> =>
      kubectl.run(
        `get apiservice ${version}.${GROUP} -o jsonpath={.status.conditions[0].status},{.status.conditions[0].reason}`,
      );

    beforeAll(async () => {
      [cluster, etcd] = await Promise.all([
        coxUp(['--runtime', 'simulated', '--store', 'memory'], {
          dataDir: join(dir.path, 'cluster'),
        }),
        startEtcd(),
      ]);
      kubectl = cluster.kubectl();
      port = await freePort();
      await startSample();
      await kubectl.run('apply -f -', { input: manifest(port) });
      await eventually(
        'the API services are available',
        async () => (await availability()) === 'True,Passed',
      );
      await eventually('they are discovered', async () =>
        (await kubectl.run('api-resources')).includes('flunders'),
      );
    });

    afterAll(async () => {
      if (sample !== undefined) await stopSample();
      await cluster?.stop();
      await etcd?.stop();
      dir.remove();
    });

    test('is shown beside the server’s own API services', async () => {
      const services = await kubectl.run('get apiservices');
      expect(services).toMatch(/v1alpha1\.wardle\.example\.com +wardle\/api +True/);
      expect(services).toMatch(/v1\.apps +Local +True/);
      expect(await kubectl.run('api-versions')).toContain(`${GROUP}/v1beta1`);
    });

    test('objects are created, read, changed, watched and deleted', async () => {
      await kubectl.run('create -f -', { input: flunder('made') });
      await kubectl.run('apply -f -', { input: flunder('applied') });
      await kubectl.run('apply --server-side -f -', { input: flunder('server-side') });
      expect(await kubectl.run('get flunders')).toMatch(/applied[^]*made[^]*server-side/);
      expect(
        await kubectl.run(`get flunders.v1beta1.${GROUP} made -o jsonpath={.apiVersion}`),
      ).toBe(`${GROUP}/v1beta1`);
      await kubectl.run('label flunder made a=b');
      expect(await kubectl.run('get flunders -l a=b -o name')).toBe(`flunder.${GROUP}/made\n`);
      await kubectl.run(
        `patch flunder made --type=merge -p '{"metadata":{"annotations":{"x":"y"}}}'`,
      );
      expect(await kubectl.run('get flunder made -o jsonpath={.metadata.annotations.x}')).toBe('y');

      const watching = kubectl.spawn('get flunders --watch -o name');
      let seen = '';
      watching.stdout?.on('data', (chunk: Buffer) => (seen += chunk.toString('utf8')));
      await eventually('the watch has the initial events', async () => seen.includes('/made'));
      await kubectl.run('create -f -', { input: flunder('later') });
      await eventually('the watch has the event', async () => seen.includes('/later'));
      watching.kill();

      await kubectl.run('delete flunder made applied server-side later');
      expect((await kubectl.run('get flunders -o name')).trim()).toBe('');
    });

    test('admission of the other server decides about its kinds', async () => {
      const fischer =
        `{"apiVersion":"${GROUP}/v1alpha1","kind":"Fischer","metadata":{"name":"one"},` +
        '"disallowedFlunders":["bad"]}';
      await kubectl.run('create -f -', { input: fischer });
      const refused = await eventually('the flunder is refused', async () => {
        const result = await kubectl.try('create -f -', { input: flunder('bad') });
        await kubectl.try('delete flunder bad');
        return result.status !== 0 && result;
      });
      expect(refused.stderr).toContain(
        'this name may not be used, please change the resource name',
      );
      await kubectl.run('delete fischer one');
    });

    test('explain and OpenAPI describe its kinds', async () => {
      expect(await kubectl.run('explain flunders.spec')).toContain('flunderReference');
      expect(
        await kubectl.run('explain fischers --api-version=wardle.example.com/v1alpha1'),
      ).toContain('disallowedFlunders');
      const v2 = JSON.parse(await kubectl.run('get --raw /openapi/v2')) as {
        readonly paths: object;
        readonly definitions: object;
      };
      expect(Object.keys(v2.paths)).toContain(
        `/apis/${GROUP}/v1alpha1/namespaces/{namespace}/flunders`,
      );
      expect(Object.keys(v2.definitions).filter((name) => /_v\d+$/.test(name))).toEqual([]);
    });

    test('users have the rights that roles of this server grant', async () => {
      const forbidden = await kubectl.try('get flunders --as jane');
      expect(forbidden.stderr).toContain(
        'User "jane" cannot list resource "flunders" in API group "wardle.example.com"',
      );
      await kubectl.run(`create clusterrole flunders --verb=get,list --resource=flunders.${GROUP}`);
      await kubectl.run('create clusterrolebinding flunders --clusterrole=flunders --user=jane');
      // The other server sends its own access reviews, and caches a refusal for a while.
      await eventually(
        'jane may list flunders',
        async () => (await kubectl.try('get flunders --as jane')).status === 0,
      );
      await kubectl.run('create -f -', { input: flunder('guarded') });
      expect((await kubectl.try('delete flunder guarded --as jane')).stderr).toContain(
        'User "jane" cannot delete resource "flunders"',
      );
      await kubectl.run('delete flunder guarded');
    });

    test('objects are deleted with their owners', async () => {
      await kubectl.run('create configmap owner');
      const uid = await kubectl.run('get configmap owner -o jsonpath={.metadata.uid}');
      const owners = `, ownerReferences: [{ apiVersion: v1, kind: ConfigMap, name: owner, uid: ${uid} }]`;
      await kubectl.run('create -f -', { input: flunder('owned', owners) });
      await kubectl.run('delete configmap owner');
      await eventually(
        'the flunder is collected',
        async () => (await kubectl.try('get flunder owned')).status !== 0,
        90_000,
      );
    });

    test('objects are deleted with their namespace', async () => {
      await kubectl.run('create namespace going');
      await kubectl.run('-n going create -f -', { input: flunder('inside') });
      await kubectl.run('delete namespace going', { timeoutMs: 60_000 });
      expect((await kubectl.try('-n going get flunder inside')).stderr).toContain('not found');
    });

    test('without the other server, other groups work and deleted namespaces wait', async () => {
      await kubectl.run('create namespace waiting');
      await stopSample();
      await eventually(
        'the API service is unavailable',
        async () => (await availability()).startsWith('False,'),
        90_000,
      );
      const refused = await kubectl.try('get flunders');
      expect(refused.stderr).toContain('the server is currently unable to handle the request');
      expect((await kubectl.try('get configmaps')).status).toBe(0);
      await kubectl.run('delete namespace waiting --wait=false');
      const condition =
        '{.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].message}';
      await eventually('the namespace says what it waits for', async () =>
        (await kubectl.run(`get namespace waiting -o jsonpath='${condition}'`)).includes(
          `${GROUP}/v1alpha1: stale GroupVersion discovery`,
        ),
      );
      await startSample();
      await eventually(
        'the API service is available',
        async () => (await availability()) === 'True,Passed',
        90_000,
      );
      await eventually(
        'the namespace is gone',
        async () => (await kubectl.try('get namespace waiting')).status !== 0,
        90_000,
      );
    }, 300_000);

    test('kubectl top reads an aggregated metrics API', async () => {
      const node = (await kubectl.run('get nodes -o jsonpath={.items[0].metadata.name}')).trim();
      const metrics = new FakeServer({
        ...(await (await makeTestAuthority()).server()),
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        host: '0.0.0.0',
      });
      const apiVersion = 'metrics.k8s.io/v1beta1';
      const usage = { cpu: '250m', memory: '512Mi' };
      const item = {
        metadata: { name: node },
        timestamp: '2026-01-01T00:00:00Z',
        window: '10s',
        usage,
      };
      metrics.documents.set(`/apis/${apiVersion}/nodes`, (_request, response) => {
        const list = { kind: 'NodeMetricsList', apiVersion, metadata: {}, items: [item] };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list));
      });
      await metrics.start();
      try {
        await kubectl.run('apply -f -', { input: metricsManifest(metrics.port) });
        await eventually('kubectl top shows the node', async () => {
          const { stdout } = await kubectl.try('top nodes');
          return new RegExp(`${node} +250m .* 512Mi`).test(stdout);
        });
      } finally {
        await kubectl.run('delete apiservice v1beta1.metrics.k8s.io');
        await metrics.stop();
      }
    });

    test('its kinds disappear with the API services', async () => {
      await kubectl.run(`delete apiservice v1alpha1.${GROUP} v1beta1.${GROUP}`);
      await eventually(
        'nothing is discovered',
        async () => !(await kubectl.run('api-resources')).includes('flunders'),
      );
      expect((await kubectl.try(`get --raw /apis/${GROUP}/v1alpha1`)).stderr).toContain('NotFound');
    });
  },
);
