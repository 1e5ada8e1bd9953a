// Simulated nodes from the clients' view: logs, exec and cp through the shell in simulated
// containers, and the kubelets' own API, through the API server and at the node's address.

import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

describe.skipIf(missingKubectl !== undefined)(named('simulated nodes', missingKubectl), () => {
  const directory = temporaryDir();
  let cluster: RunningCluster;
  let kubectl: Kubectl;

  beforeAll(async () => {
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '3'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
    await kubectl.run(
      `run sh --image=busybox --command -- sh -c 'for i in $(seq 1 3); do echo line $i; done; sleep infinity'`,
    );
    await kubectl.run('run quiet --image=nginx --annotations=simulation.coxswain.dev/cpu=250m');
    await kubectl.run('wait --for=condition=Ready pod/sh pod/quiet --timeout=60s');
  });
  afterAll(async () => {
    await cluster?.stop();
    directory.remove();
  });

  test('a script runs, and its output is in the log', async () => {
    expect(await kubectl.run('logs sh')).toBe('line 1\nline 2\nline 3\n');
  });

  test('exec runs scripts, reads stdin and reports exit codes', async () => {
    expect(
      await kubectl.run(`exec -i sh -- sh -c 'read x; echo got $x'`, { input: 'hello\n' }),
    ).toBe('got hello\n');
    expect(
      await kubectl.run(`exec sh -- sh -c 'seq 1 5 | while read n; do echo $n; done | wc -l'`),
    ).toBe('5\n');
    const { status, stderr } = await kubectl.try('exec sh -- nothere');
    expect(status).toBe(127);
    expect(stderr).toContain('exec: "nothere": executable file not found in $PATH');
  });

  test('logs -f of a silent container ends with the container', async () => {
    let ended = false;
    const following = kubectl.spawn('logs -f quiet');
    const exit = new Promise<void>((resolve) => {
      following.once('exit', () => {
        ended = true;
        resolve();
      });
    });
    // If the log request did not wait, it would end during these requests.
    for (let i = 0; i < 5; i++) await kubectl.run('get pod quiet');
    expect(ended).toBe(false);
    await kubectl.run('delete pod quiet --now');
    await exit;
  });

  test('cp works both ways', async () => {
    const [there, back] = [join(directory.path, 'there'), join(directory.path, 'back')];
    writeFileSync(there, 'content\n');
    await kubectl.run(`cp ${there} sh:/tmp/file`);
    expect(await kubectl.run('exec sh -- cat /tmp/file')).toBe('content\n');
    await kubectl.run(`cp sh:/tmp/file ${back}`);
    expect(readFileSync(back, 'utf8')).toBe('content\n');
  });

  test('run -i reaches the first process', async () => {
    const out = await kubectl.run(
      'run cat --image=busybox --rm -i --restart=Never --quiet -- cat',
      {
        input: 'typed\n',
      },
    );
    expect(out).toBe('typed\n');
  });

  test('kubectl top shows nodes and pods, with nothing to install', async () => {
    await kubectl.run('run busy --image=nginx --annotations=simulation.coxswain.dev/cpu=250m');
    await kubectl.run('wait --for=condition=Ready pod/busy --timeout=60s');
    const pods = await kubectl.run('top pods --no-headers');
    expect(pods).toMatch(/^busy +250m +8Mi/m);
    expect(pods).toMatch(/^sh +1m +8Mi/m);
    const nodes = await kubectl.run('top nodes --no-headers');
    expect(nodes.trim().split('\n')).toHaveLength(3);
    expect(nodes).toMatch(/^\S+ +27\dm +\d+% +\d+Mi +\d+%/m);
    expect(await kubectl.run('get pods.metrics.k8s.io busy')).toMatch(
      /^NAME +CPU +MEMORY +WINDOW\nbusy +250m +8Mi +1/,
    );
    expect(await kubectl.run('api-resources --api-group=metrics.k8s.io -o name')).toBe(
      'nodes.metrics.k8s.io\npods.metrics.k8s.io\n',
    );
    const allowed = 'auth can-i list pods.metrics.k8s.io --as jane --as-group';
    expect((await kubectl.try(`${allowed} readers`)).stdout).toBe('no\n');
    await kubectl.run('create clusterrolebinding readers --clusterrole view --group readers');
    expect(await kubectl.run(`${allowed} readers`)).toBe('yes\n');
  });

  test('each node serves its own metrics through the API server', async () => {
    const names = (await kubectl.run('get nodes -o name')).trim().split('\n');
    expect(names).toHaveLength(3);
    for (const name of names) {
      const path = `/api/v1/nodes/${name.replace('node/', '')}/proxy`;
      expect(await kubectl.run(`get --raw ${path}/metrics`)).toContain(
        `kubelet_node_name{node="${name.replace('node/', '')}"} 1`,
      );
      expect(await kubectl.run(`get --raw ${path}/metrics/resource`)).toContain(
        'resource_scrape_error 0',
      );
      for (const route of [
        'metrics/cadvisor',
        'metrics/probes',
        'configz',
        'pods',
        'stats/summary',
        'healthz',
      ]) {
        expect((await kubectl.try(`get --raw ${path}/${route}`)).status, route).toBe(0);
      }
    }
  });

  test('each node listens at its announced address and port', async () => {
    await kubectl.run('create serviceaccount scraper');
    await kubectl.run('create clusterrole scraper --verb=get --resource=nodes/metrics');
    await kubectl.run(
      'create clusterrolebinding scraper --clusterrole=scraper --serviceaccount=default:scraper',
    );
    const token = (await kubectl.run('create token scraper')).trim();
    const format =
      '{range .items[*]}{.metadata.name} {.status.addresses[0].type} ' +
      '{.status.addresses[0].address} ' +
      '{.status.daemonEndpoints.kubeletEndpoint.Port}{"\\n"}{end}';
    const lines = (await kubectl.run(`get nodes -o jsonpath='${format}'`)).trim().split('\n');
    const ca = readFileSync(join(cluster.dataDir, 'pki', 'ca.crt'));
    const ports = new Set<string>();
    for (const line of lines) {
      const [name = '', type = '', address = '', port = ''] = line.split(' ');
      ports.add(port);
      const get = (authorization?: string): Promise<{ code: number; body: string }> =>
        new Promise((resolve, reject) => {
          const options = {
            // A machine with loopback addresses alone announces only its name.
            host: type === 'InternalIP' ? address : '127.0.0.1',
            port,
            path: '/metrics',
            ca,
            agent: false,
            headers: authorization === undefined ? {} : { authorization },
          };
          const sent = request(options, (response) => {
            let body = '';
            response.on('data', (chunk: Buffer) => (body += chunk.toString()));
            response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
          });
          sent.on('error', reject);
          sent.end();
        });
      expect(await get()).toEqual({ code: 401, body: 'Unauthorized' });
      const { code, body } = await get(`Bearer ${token}`);
      expect(code).toBe(200);
      expect(body).toContain(`kubelet_node_name{node="${name}"} 1`);
    }
    expect(ports.size).toBe(3);
  });
});
