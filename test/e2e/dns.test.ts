// The cluster's DNS, queried from pods of a private containerd through the ClusterIP of kube-dns,
// as every resolv.conf names it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxArgs,
  coxUp,
  eventually,
  type Kubectl,
  kubectls,
  missingContainerd,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { importBusybox } from './images.ts';

const missing = missingKubectl ?? missingContainerd;

const client = `
apiVersion: v1
kind: Pod
metadata: { name: client }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: client, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600'] }]
---
apiVersion: v1
kind: Pod
metadata: { name: own-config }
spec:
  terminationGracePeriodSeconds: 0
  dnsPolicy: None
  dnsConfig: { nameservers: [10.96.0.10], searches: [svc.cluster.local], options: [{ name: ndots, value: '1' }] }
  containers: [{ name: client, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600'] }]
---
apiVersion: v1
kind: Pod
metadata: { name: host-network }
spec:
  terminationGracePeriodSeconds: 0
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  containers: [{ name: client, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600'] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { clusterIP: 10.96.77.7, selector: { app: web }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: peers }
spec: { clusterIP: None, selector: { app: peer }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: peer-0, labels: { app: peer } }
spec:
  hostname: peer-0
  subdomain: peers
  terminationGracePeriodSeconds: 0
  containers: [{ name: peer, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, '3600'] }]
`;

describe.skipIf(missing !== undefined)(named('DNS', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  beforeAll(async () => {
    dir = temporaryDir();
    cluster = await coxUp(['--runtime', 'containerd', '--dns'], { dataDir: dir.path });
    kubectl = cluster.kubectl(kubectls().at(-1)?.path ?? '');
    await importBusybox(dir.path);
    await kubectl.run('apply -f -', { input: client });
    await kubectl.run('wait --for=condition=Ready pods --all --timeout=120s', {
      timeoutMs: 130_000,
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    // Mounts of pods would keep the directory from being removed.
    await run(process.execPath, [...coxArgs, 'reset', '--stop', '--yes', '--data-dir', dir.path]);
    dir.remove();
  });

  const inPod = (pod: string, command: string) => kubectl.try(`exec ${pod} -- ${command}`);
  const lookUp = async (pod: string, name: string): Promise<string> =>
    (await inPod(pod, `nslookup ${name}`)).stdout;

  test('a pod resolves a service by its name, in its namespace and in others', async () => {
    expect(await lookUp('client', 'web.default.svc.cluster.local')).toContain(
      'Address: 10.96.77.7',
    );
    expect((await inPod('client', 'cat /etc/resolv.conf')).stdout).toMatch(
      new RegExp(
        String.raw`^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local.*\n` +
          String.raw`nameserver 10\.96\.0\.10\noptions ndots:5\n$`,
      ),
    );
    // The libc of the image takes the search domains into account.
    const ping = await inPod('client', 'ping -c 1 -W 1 web');
    expect(ping.stdout).toContain('PING web (10.96.77.7)');
    expect((await inPod('client', 'ping -c 1 -W 1 kubernetes.default')).stdout).toContain(
      '(10.96.0.1)',
    );
  });

  test('a pod finds the pods of a headless service, by name and by address', async () => {
    const ip = await kubectl.run('get pod peer-0 -o jsonpath={.status.podIP}');
    await eventually('the record of peer-0', async () =>
      (await lookUp('client', 'peer-0.peers.default.svc.cluster.local')).includes(ip),
    );
    expect((await inPod('client', `nslookup ${ip}`)).stdout).toContain(
      'peer-0.peers.default.svc.cluster.local',
    );
    expect((await inPod('peer-0', 'hostname -f')).stdout.trim()).toBe(
      'peer-0.peers.default.svc.cluster.local',
    );
    expect((await inPod('client', 'nslookup nothing.default.svc.cluster.local')).stdout).toContain(
      'NXDOMAIN',
    );
  });

  test('every dnsPolicy leads to this server', async () => {
    expect((await inPod('own-config', 'ping -c 1 -W 1 web.default')).stdout).toContain(
      '(10.96.77.7)',
    );
    expect(await lookUp('host-network', 'web.default.svc.cluster.local')).toContain(
      'Address: 10.96.77.7',
    );
  });

  test('the slice of kube-dns has the address and the port of the server', async () => {
    const slices = await kubectl.run(
      'get endpointslices -n kube-system -l kubernetes.io/service-name=kube-dns -o ' +
        'jsonpath={.items[*].endpoints[*].addresses[0]}:{.items[*].ports[0].port}',
    );
    const [, address = '', port = ''] = /^(.+):(\d+)$/.exec(slices) ?? [];
    expect(await kubectl.run('get nodes -o jsonpath={.items[*].status.addresses[0].address}')).toBe(
      address,
    );
    const { stdout } = await run('ss', ['-Hlun', 'sport', '=', `:${port}`]);
    expect(stdout).toContain(`${address}:${port}`);
    // The server does not listen on other addresses.
    expect(stdout).not.toContain(`0.0.0.0:${port}`);
  });

  test('the address is removed from the machine with the cluster', async () => {
    expect((await run('ip', ['-br', 'address'])).stdout).toMatch(
      /^cxs[0-9a-f]{10} .*10\.96\.0\.10\/32/m,
    );
    await cluster.stop();
    expect((await run('ip', ['-br', 'address'])).stdout).not.toContain('10.96.0.10/32');
  });
});
