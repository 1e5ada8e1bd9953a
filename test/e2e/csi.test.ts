// The reference CSI driver on a real node: claims wait for their pods, the scheduler sees the
// capacity, data outlives a restart of the cluster, and volumes grow and go.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRoot } from '#cluster/machine/install.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

const missing =
  missingKubectl ??
  (process.platform !== 'linux' || !isRoot() ? 'mounting takes root on Linux' : undefined);

const claim = (name: string, size: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: csi-image
  resources: {requests: {storage: ${size}}}
`;
const pod = (name: string, command: string, volume: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  containers:
    - name: c
      image: busybox
      command: [sh, -c, ${JSON.stringify(command)}]
      volumeMounts: [{name: v, mountPath: /data}]
  volumes: [{name: v, ${volume}}]
`;
const ofClaim = (name: string): string => `persistentVolumeClaim: {claimName: ${name}}`;

describe.skipIf(missing !== undefined)(named('the reference CSI driver', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const start = async (): Promise<void> => {
    cluster = await coxUp(['--runtime', 'process', '--csi-driver'], { dataDir: dir.path });
    kubectl = cluster.kubectl();
  };
  beforeAll(async () => {
    dir = temporaryDir();
    await start();
  });
  afterAll(async () => {
    await kubectl?.try('delete pods,pvc --all --timeout=60s');
    await cluster?.stop();
    dir.remove();
  });
  const phaseOf = (name: string): Promise<string> =>
    kubectl.run(`get pod ${name} -o jsonpath={.status.phase}`);
  const ended = (name: string): Promise<unknown> =>
    eventually(`pod ${name} to end`, async () => (await phaseOf(name)) === 'Succeeded');
  const mountsHere = (): readonly string[] =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(dir.path));

  test('the driver registers with the node', async () => {
    await eventually(
      'the driver in the CSINode',
      async () =>
        (await kubectl.run('get csinodes -o jsonpath={.items[*].spec.drivers[*].name}')) ===
        'csi.coxswain.dev',
    );
    await eventually(
      'the capacities',
      async () =>
        (
          await kubectl.run(
            'get csistoragecapacities -n kube-system -o jsonpath={.items[*].storageClassName}',
          )
        )
          .split(' ')
          .toSorted()
          .join() === 'csi-directory,csi-image',
    );
  });

  test('a claim waits for its pod, which writes to a file system of its own', async () => {
    await kubectl.run('apply -f -', { input: claim('data', '64Mi') });
    expect(await kubectl.run('get pvc data -o jsonpath={.status.phase}')).toBe('Pending');
    await kubectl.run('apply -f -', {
      input: pod('writer', 'echo written > $COXSWAIN_ROOT/data/file', ofClaim('data')),
    });
    await ended('writer');
    await kubectl.run('delete pod writer');
    await eventually('the volume to be unmounted', () =>
      Promise.resolve(mountsHere().length === 0),
    );
  });

  test('more than there is is not scheduled', async () => {
    await kubectl.run('apply -f -', { input: claim('huge', '8Ei') });
    await kubectl.run('apply -f -', { input: pod('huge', 'true', ofClaim('huge')) });
    await eventually('the reason in the pod', async () =>
      (await kubectl.run('get pod huge -o jsonpath={.status.conditions[*].message}')).includes(
        'did not have enough free storage',
      ),
    );
    await kubectl.run('delete pod/huge pvc/huge');
  });

  test('data outlives a restart while a pod runs; the volume is expanded for the next pod', async () => {
    await kubectl.run('apply -f -', {
      input: pod('holder', 'cat $COXSWAIN_ROOT/data/file; sleep 1000', ofClaim('data')),
    });
    await eventually('the holder', async () => (await phaseOf('holder')) === 'Running');
    await cluster.stop();
    await start();
    await kubectl.run('delete pod holder');
    await eventually('the volume to be unmounted', () =>
      Promise.resolve(mountsHere().length === 0),
    );
    const patch = '{"spec":{"resources":{"requests":{"storage":"256Mi"}}}}';
    await kubectl.run(`patch pvc data -p '${patch}'`);
    await eventually(
      'the node to be awaited',
      async () =>
        (await kubectl.run('get pvc data -o jsonpath={.status.conditions[*].type}')) ===
        'FileSystemResizePending',
    );
    await kubectl.run('apply -f -', {
      input: pod(
        'reader',
        'cat $COXSWAIN_ROOT/data/file; stat -f -c %b:%S $COXSWAIN_ROOT/data/',
        ofClaim('data'),
      ),
    });
    await ended('reader');
    const [text, sizes = ''] = (await kubectl.run('logs reader')).split('\n');
    expect(text).toBe('written');
    const [blocks = 0, size = 0] = sizes.split(':').map(Number);
    expect(blocks * size).toBeGreaterThan(200 * 1024 ** 2);
    expect(await kubectl.run('get pvc data -o jsonpath={.status.capacity.storage}')).toBe('256Mi');
  });

  test('the volume is deleted with its claim', async () => {
    await kubectl.run('delete pod/reader pvc/data');
    await eventually(
      'the volume to be gone',
      async () => (await kubectl.run('get pv -o name')) === '',
    );
    expect(readdirSync(join(dir.path, 'csi/volumes'))).toEqual([]);
  });

  test('an inline volume', async () => {
    await kubectl.run('apply -f -', {
      input: pod('inline', 'echo x > $COXSWAIN_ROOT/data/file', 'csi: {driver: csi.coxswain.dev}'),
    });
    await ended('inline');
    await kubectl.run('delete pod inline');
    await eventually('the directory to be gone', () =>
      Promise.resolve(readdirSync(join(dir.path, 'csi/volumes')).length === 0),
    );
  });
});
