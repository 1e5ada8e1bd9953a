// A kubelet of two versions before against this server. Its runtime only pretends to run
// containers, so the test needs neither root nor containerd; `npm run conformance -- --swap
// kubelet=v1.34.4` runs real ones.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMaps, nodes, pods } from '#api/groups/core/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { roleKubeconfig } from '#cluster/credentials/role-certificates.ts';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { createCluster, type DurableCluster } from '#cluster/embedded/create-cluster.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import { OLDEST_KUBELET, skewProgram } from './programs.ts';

const NODE = 'older';
const program = skewProgram(OLDEST_KUBELET, 'kubemark');
/** A kubelet that may do so changes the machine's firewall. */
const withoutFirewall = isRoot()
  ? ['setpriv', '--bounding-set=-net_admin', '--inh-caps=-net_admin']
  : [];
const missing = !existsSync(program)
  ? ' [skipped: it is not built: npx tsx test/skew/build.ts]'
  : isRoot() && findProgram('setpriv') === undefined
    ? ' [skipped: there is no setpriv (apt-get install util-linux)]'
    : '';
const inDefault = { namespace: 'default' };
const LIMIT = { timeoutMs: 120_000 };

const POD = `apiVersion: v1
kind: Pod
metadata: { name: pinned, namespace: default }
spec:
  nodeSelector: { kubernetes.io/hostname: ${NODE} }
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: example.org/main
      env: [{ name: COLOR, valueFrom: { configMapKeyRef: { name: settings, key: color } } }]
      volumeMounts: [{ name: settings, mountPath: /settings }]
  volumes: [{ name: settings, configMap: { name: settings } }]
`;

describe.skipIf(missing !== '')(`a kubelet of ${OLDEST_KUBELET}${missing}`, () => {
  let dir: string;
  let cluster: DurableCluster;
  let kubelet: ChildProcess;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'coxswain-skew-'));
    const dataDir = join(dir, 'data');
    cluster = await createCluster({ dataDir, port: 0, store: 'memory' });
    const kubeconfig = join(dir, 'kubelet.conf');
    await roleKubeconfig({
      certDir: join(dataDir, 'pki'),
      role: 'kubelet',
      node: NODE,
      server: cluster.url,
      path: kubeconfig,
    });
    const temporary = join(dir, 'tmp');
    mkdirSync(temporary);
    const log = createWriteStream(join(dir, 'kubelet.log'));
    const [command = '', ...args] = [...withoutFirewall, program];
    kubelet = spawn(
      command,
      [
        ...args,
        '--morph=kubelet',
        `--name=${NODE}`,
        `--kubeconfig=${kubeconfig}`,
        `--kubelet-port=${await freePort()}`,
        '--kubelet-read-only-port=0',
        '--use-host-image-service=false',
        `--node-labels=kubernetes.io/hostname=${NODE}`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: temporary } },
    );
    for (const stream of [kubelet.stdout, kubelet.stderr]) stream?.pipe(log, { end: false });
  });
  afterAll(async () => {
    if (kubelet?.exitCode === null && kubelet.signalCode === null) {
      const ended = once(kubelet, 'exit');
      kubelet.kill('SIGKILL');
      await ended;
    }
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Fails with the end of the kubelet's log. */
  const explained = async <T>(promise: Promise<T>): Promise<T> => {
    try {
      return await promise;
    } catch (error) {
      const log = readFileSync(join(dir, 'kubelet.log'), 'utf8').slice(-4000);
      throw new Error(`the kubelet logged:\n${log}`, { cause: error });
    }
  };

  test('registers its node, and renews its lease', async () => {
    await explained(cluster.waitFor(nodes, NODE, 'Ready', LIMIT));
    const node = await cluster.get(nodes, NODE);
    expect(node.status.nodeInfo?.kubeletVersion).toBe(OLDEST_KUBELET);
    const inLeases = { ...LIMIT, namespace: 'kube-node-lease' };
    const lease = await explained(
      cluster.waitFor(leases, NODE, ({ spec }) => spec.renewTime !== undefined, inLeases),
    );
    expect(lease?.spec.holderIdentity).toBe(NODE);
  });

  test('runs a pod with a ConfigMap and a token, and removes it', async () => {
    await cluster.client
      .resource(configMaps)
      .namespace('default')
      .create({ metadata: { name: 'settings' }, data: { color: 'blue' } });
    await cluster.apply(POD);
    const isRunning = ({ status }: { readonly status: { readonly phase?: string } }): boolean =>
      status.phase === 'Running';
    const pod = await explained(
      cluster.waitFor(pods, 'pinned', isRunning, { ...inDefault, ...LIMIT }),
    );
    expect(pod?.spec.nodeName).toBe(NODE);
    expect(pod?.status.containerStatuses).toMatchObject([
      { name: 'main', ready: true, state: { running: {} } },
    ]);
    await cluster.delete(pods, 'pinned', inDefault);
    await explained(cluster.waitFor(pods, 'pinned', 'deleted', { ...inDefault, ...LIMIT }));
  });
});
