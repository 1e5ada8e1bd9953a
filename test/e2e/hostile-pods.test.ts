// Pods that try to keep the kubelet waiting, with each runtime that runs real programs: the other
// pods run on, the cluster can be started again, and every container can be stopped.

import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  readFileSync,
  missingContainerd,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { importBusybox } from './images.ts';

/** Each pod has four FIFOs: together they are more than the threads of libuv's pool. */
const PODS = 2;
const UV_THREADPOOL_SIZE = '4';

const fifoPod = (name: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: fifo } }
spec:
  restartPolicy: Never
  volumes: [{ name: v, emptyDir: {} }]
  initContainers:
    - name: make
      image: busybox
      imagePullPolicy: IfNotPresent
      command: [sh, -c, 'cd "$COXSWAIN_ROOT/v" && mkfifo f1 f2 f3 f4']
      volumeMounts: [{ name: v, mountPath: /v }]
  containers:${[1, 2, 3, 4]
    .map(
      (index) => `
    - name: c${index}
      image: busybox
      imagePullPolicy: IfNotPresent
      command: [sh, -c, 'exit 0']
      terminationMessagePath: /tl
      volumeMounts: [{ name: v, mountPath: /tl, subPath: f${index} }]`,
    )
    .join('')}
`;

describe.each([
  ['process', missingKubectl],
  ['containerd', missingKubectl ?? missingContainerd],
])('with the runtime %s', (runtime, missing) => {
  describe.skipIf(missing !== undefined)(named('a pod', missing), () => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    const servers: Server[] = [];
    const start = async (): Promise<void> => {
      cluster = await coxUp(['--runtime', runtime], {
        dataDir: dir.path,
        env: { UV_THREADPOOL_SIZE },
      });
      kubectl = cluster.kubectl();
    };
    /** Starts a server on this host that answers every request with the text. Returns its port. */
    async function answering(text: string): Promise<number> {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.write(text));
      });
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return (server.address() as AddressInfo).port;
    }
    const apply = (yaml: string): Promise<string> => kubectl.run('apply -f -', { input: yaml });
    const field = (pod: string, path: string): Promise<string> =>
      kubectl.run(`get pod ${pod} -o jsonpath={${path}}`);

    beforeAll(async () => {
      dir = temporaryDir();
      await start();
      if (runtime === 'containerd') await importBusybox(dir.path);
    });
    afterAll(async () => {
      for (const server of servers) server.close();
      await kubectl?.try('delete pods --all --grace-period=0 --force --timeout=60s');
      // Sandboxes are removed a moment after their pods, and hold mounts until then.
      const isMounted = (): boolean =>
        readFileSync('/proc/self/mountinfo', 'utf8').includes(`${dir.path}/`);
      await eventually('all mounts to be gone', async () => !isMounted());
      await cluster?.stop();
      dir.remove();
    });

    test('FIFOs as termination logs do not stop the other pods, nor the next start', async () => {
      for (let index = 0; index < PODS; index++) await apply(fifoPod(`fifo-${index}`));
      for (let index = 0; index < PODS; index++) {
        await eventually(
          'it has ended',
          async () => (await field(`fifo-${index}`, '.status.phase')) === 'Succeeded',
        );
      }
      const message = await field(
        'fifo-0',
        '.status.containerStatuses[0].state.terminated.message',
      );
      expect(message).toMatch(
        /^Error on reading termination log .* is a named pipe, not a regular file$/,
      );
      // A pod that has ended keeps its address.
      expect(await field('fifo-0', '.status.podIP')).not.toBe('');
      expect(await kubectl.run('create token default')).not.toBe('');
      expect(await kubectl.run('get --raw /readyz')).toBe('ok');
      await cluster.kill();
      await start();
      await kubectl.run(
        'run after --image=busybox --image-pull-policy=IfNotPresent --restart=Never --command -- sh -c "exit 0"',
      );
      await eventually(
        'a new pod has run',
        async () => (await field('after', '.status.phase')) === 'Succeeded',
      );
      expect(await field('fifo-0', '.status.podIP')).not.toBe('');
      await kubectl.run('delete pods -l app=fifo --timeout=60s');
    });

    test('a preStop hook that gets a 101 response is stopped when the grace period ends', async () => {
      const port = await answering(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      );
      const silent = await answering('');
      for (const [name, peer] of [
        ['switches', port],
        ['stalls', silent],
      ] as const) {
        await apply(`
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: busybox
      imagePullPolicy: IfNotPresent
      command: [sleep, '3600']
      lifecycle: { preStop: { httpGet: { host: 127.0.0.1, port: ${peer}, path: / } } }
      livenessProbe: { periodSeconds: 1, failureThreshold: 1000, httpGet: { host: 127.0.0.1, port: ${peer}, path: / } }
`);
        await eventually(
          `${name} runs`,
          async () => (await field(name, '.status.phase')) === 'Running',
        );
      }
      await eventually('the probe has failed', async () =>
        (await kubectl.run('get events --field-selector reason=Unhealthy')).includes(
          'HTTP probe failed with statuscode: 101',
        ),
      );
      await kubectl.run('delete pod switches stalls --timeout=30s');
    });

    test('a probe that is redirected to another host succeeds, with a warning', async () => {
      const port = await answering(
        'HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 5\r\n\r\nhello',
      );
      await apply(`
apiVersion: v1
kind: Pod
metadata: { name: redirected }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox
      imagePullPolicy: IfNotPresent
      command: [sleep, '3600']
      readinessProbe: { periodSeconds: 1, httpGet: { host: 127.0.0.1, port: ${port}, path: / } }
`);
      await kubectl.run('wait --for=condition=Ready pod/redirected --timeout=60s');
      const events = await kubectl.run('get events --field-selector reason=ProbeWarning');
      expect(events).toContain(
        'Readiness probe warning: Probe terminated redirects, Response body: hello',
      );
      await kubectl.run('delete pod redirected --timeout=30s');
    });

    test('runs isolated, or the node reports that it does not', async () => {
      const shown = await kubectl.run('describe nodes');
      if (runtime === 'process') {
        expect(shown).toMatch(
          /coxswain\.dev\/ContainerIsolation +False .*HostProcesses +containers are processes of this host/,
        );
        expect(cluster.stderr()).toContain('without isolation');
      } else {
        expect(shown).not.toContain('ContainerIsolation');
        expect(cluster.stderr()).not.toContain('without isolation');
      }
    });
  });
});
