// Claims of the default class on a real node: the directory is created, keeps its data while pods
// come and go, and is removed. Images as volumes of real containers, too.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingContainerd,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { importBusybox } from './images.ts';

const pod = (name: string, command: string, more = ''): string => `
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
      volumeMounts: [{name: v, mountPath: /data${more}}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
`;

describe.skipIf(missingKubectl !== undefined)(
  named('volumes of host processes', missingKubectl),
  () => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'process'], { dataDir: dir.path });
      kubectl = cluster.kubectl();
    });
    afterAll(async () => {
      await kubectl?.try('delete pods --all --timeout=60s');
      await cluster?.stop();
      dir.remove();
    });
    const volumes = (): string => join(dir.path, 'kubelet', 'local-volumes');
    const phaseOf = (name: string): Promise<string> =>
      kubectl.run(`get pod ${name} -o jsonpath={.status.phase}`);

    test('a claim waits for its pod, which writes to a directory of the node', async () => {
      await kubectl.run('apply -f -', {
        input: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
      });
      expect(
        await kubectl.run('get pvc data -o jsonpath={.status.phase},{.spec.storageClassName}'),
      ).toBe('Pending,standard');
      await kubectl.run('apply -f -', {
        input: pod('writer', 'echo written > $COXSWAIN_ROOT/data/file'),
      });
      await eventually('the writer to end', async () => (await phaseOf('writer')) === 'Succeeded');
      const [volume = ''] = readdirSync(volumes());
      expect(await kubectl.run('get pvc data -o jsonpath={.status.phase},{.spec.volumeName}')).toBe(
        `Bound,${volume}`,
      );
      expect(readFileSync(join(volumes(), volume, 'file'), 'utf8')).toBe('written\n');
      expect(statSync(join(volumes(), volume)).mode & 0o777).toBe(0o777);
    });

    test('the data is there for the next pod, also in a part of the volume', async () => {
      await kubectl.run('delete pod writer');
      await kubectl.run('apply -f -', { input: pod('reader', 'cat $COXSWAIN_ROOT/data/file') });
      await kubectl.run('apply -f -', {
        input: pod('part', 'echo more > $COXSWAIN_ROOT/data/file', ', subPath: sub/part'),
      });
      await eventually(
        'both to end',
        async () =>
          (await phaseOf('reader')) === 'Succeeded' && (await phaseOf('part')) === 'Succeeded',
      );
      expect(await kubectl.run('logs reader')).toBe('written\n');
      const [volume = ''] = readdirSync(volumes());
      expect(readFileSync(join(volumes(), volume, 'sub/part/file'), 'utf8')).toBe('more\n');
    });

    test('the claim stays for its pods; the volume and the directory are deleted with it', async () => {
      await kubectl.run('delete pvc data --wait=false');
      expect(await kubectl.run('get pvc data -o jsonpath={.metadata.deletionTimestamp}')).not.toBe(
        '',
      );
      await kubectl.run('delete pods reader part');
      await kubectl.run('wait --for=delete pvc/data --timeout=30s');
      await eventually(
        'the volume to be gone',
        async () => (await kubectl.run('get pv -o name')) === '',
      );
      expect(readdirSync(volumes())).toEqual([]);
    });
  },
);

const missing = missingKubectl ?? missingContainerd;

describe.skipIf(missing !== undefined)(named('volumes of containers', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  beforeAll(async () => {
    dir = temporaryDir();
    cluster = await coxUp(['--runtime', 'containerd'], { dataDir: dir.path });
    kubectl = cluster.kubectl();
    await importBusybox(dir.path);
  });
  afterAll(async () => {
    await kubectl?.try('delete pods --all --grace-period=0 --force --timeout=60s');
    await cluster?.stop();
    dir.remove();
  });

  test('belong to the group of the pod, and can be mounted read-only', async () => {
    await kubectl.run('apply -f -', {
      input: `
apiVersion: v1
kind: Pod
metadata: {name: owner}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000}
  containers:
    - name: writer
      image: busybox
      imagePullPolicy: Never
      command: [sh, -c, 'echo mine > /data/file && mkdir /data/part && sleep 3600']
      volumeMounts: [{name: v, mountPath: /data}]
    - name: reader
      image: busybox
      imagePullPolicy: Never
      command: [sh, -c, 'until cat /data/file; do sleep 0.1; done; sleep 3600']
      volumeMounts: [{name: v, mountPath: /data, readOnly: true}]
  volumes:
    - name: v
      ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
`,
    });
    await eventually('what the writer wrote', async () =>
      (await kubectl.try('logs owner -c reader')).stdout.endsWith('mine\n'),
    );
    const refused = await kubectl.try('exec owner -c reader -- sh -c "echo x > /data/file"');
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Read-only file system'),
    ]);
    const volumes = join(dir.path, 'kubelet', 'local-volumes');
    const [volume = ''] = readdirSync(volumes);
    const { uid, gid } = statSync(join(volumes, volume, 'file'));
    expect([uid, gid, statSync(join(volumes, volume)).mode & 0o2000]).toEqual([1000, 2000, 0o2000]);
    expect(
      await kubectl.run('get pvc owner-v -o jsonpath={.metadata.ownerReferences[0].name}'),
    ).toBe('owner');
    // The claim is deleted with its pod, the volume with its claim.
    await kubectl.run('delete pod owner --timeout=60s');
    await eventually(
      'the volume to be gone',
      async () => (await kubectl.run('get pvc,pv -o name')) === '',
    );
    expect(readdirSync(volumes)).toEqual([]);
  });

  test('images are volumes, completely or in part, for all containers of a pod, and are removed with it', async () => {
    await kubectl.run('apply -f -', {
      input: `
apiVersion: v1
kind: Pod
metadata: {name: viewer}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: whole
      image: busybox
      imagePullPolicy: Never
      command: [sh, -c, 'ls /image/bin/busybox; touch /image/new || sleep 3600']
      volumeMounts: [{name: v, mountPath: /image}]
    - name: part
      image: busybox
      imagePullPolicy: Never
      command: [sh, -c, 'grep 65534 /config/passwd; sleep 3600']
      volumeMounts: [{name: v, mountPath: /config, subPath: etc}]
  volumes: [{name: v, image: {reference: busybox, pullPolicy: Never}}]
`,
    });
    await kubectl.run('wait --for=condition=Ready pod/viewer --timeout=60s');
    const logs = async (container: string): Promise<string> =>
      (await kubectl.try(`logs viewer -c ${container}`)).stdout;
    await eventually('the whole image, read-only', async () =>
      (await logs('whole')).includes('Read-only file system'),
    );
    expect(await logs('whole')).toContain('/image/bin/busybox');
    await eventually('a part of it', async () => (await logs('part')).startsWith('nobody:'));
    const images = join(dir.path, 'containerd', 'image-volumes');
    const views = async (): Promise<string[]> => {
      const list = [
        '-a',
        join(dir.path, 'containerd', 'containerd.sock'),
        '-n',
        'k8s.io',
        'snapshots',
        'list',
      ];
      return (await run('ctr', list)).stdout
        .split('\n')
        .filter((line) => line.includes('coxswain/'));
    };
    // A containerd that mounts images itself does not use these two directories.
    const before = readFileSync('/proc/mounts', 'utf8').split(`${images}/`).length - 1;
    expect([before, (await views()).length]).toEqual(existsSync(images) ? [1, 1] : [0, 0]);
    await kubectl.run('delete pod viewer --timeout=60s');
    await eventually('what was mounted to be gone', async () => {
      const mounts = readFileSync('/proc/mounts', 'utf8');
      return !mounts.includes(`${images}/`) && (await views()).length === 0;
    });
  });
});
