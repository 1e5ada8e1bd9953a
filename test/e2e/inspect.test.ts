// The commands that look at a cluster and at the machine, as a person uses them: cox status, why, logs, kubeconfig,
// top, doctor, image.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { connect, type Connection } from '#client/connect.ts';
import { events, pods } from '#api/groups/core/v1/index.ts';
import { writeBusyboxArchive } from '../fixtures/images/build.ts';
import {
  coxArgs,
  coxUp,
  eventually,
  existsSync,
  missingContainerd,
  named,
  readFileSync,
  run,
  type RunResult,
  temporaryDir,
} from './harness.ts';

const cox = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunResult> =>
  run(process.execPath, [...coxArgs, ...args], { env: { KUBECONFIG: '', ...env } });

/** Control characters besides the newline: nothing of them may reach a terminal. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

const HOSTILE = 'hostile \x1b[2J\x1b]0;title\x07 \x9b31m \u202etxt.exe';

const deployment = (name: string, spec: object): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec },
  },
});

describe('a cluster in the background', () => {
  let dir: ReturnType<typeof temporaryDir>;
  let dataDir: string;
  let connection: Connection;
  const here = (...args: string[]) => cox([...args, '--data-dir', dataDir]);

  beforeAll(async () => {
    dir = temporaryDir();
    dataDir = join(dir.path, 'data');
    const flags = ['--runtime', 'simulated', '--nodes', '2', '--secure-port', '0', '--detach'];
    const up = await here('up', ...flags);
    expect(up.stderr).toBe('');
    connection = await connect({ kubeconfig: join(dataDir, 'kubeconfig') });
  });
  afterAll(async () => {
    connection.close();
    await here('down');
    dir.remove();
  });

  const create = async (object: object): Promise<void> => {
    const { apiVersion = 'v1', kind = '' } = object as { apiVersion?: string; kind?: string };
    const path = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    await connection.client.transport.request({
      method: 'POST',
      path: `${path}/namespaces/default/${kind.toLowerCase()}s`,
      body: object,
    });
  };

  test('cox status: nothing is wrong, with what runs; --exit-code says so', async () => {
    const text = await eventually('a cluster without problems', async () => {
      const result = await here('status', '--exit-code');
      return result.status === 0 && result;
    });
    expect(text.stdout).toMatch(/^✓ nothing is wrong\n/);
    expect(text.stdout).toMatch(/process +\d+, since /);
    expect(text.stdout).toMatch(/version +v1\.36\./);
    expect(text.stdout).toMatch(/nodes +2 of 2 ready/);
    expect(text.stdout).toMatch(
      /components +kube-apiserver ok, controller-manager ok, scheduler ok/,
    );
    const json = await here('status', '--output', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      healthy: true,
      problems: [],
      local: { state: 'running', dataDir, pid: expect.any(Number), storeBytes: expect.any(Number) },
      nodes: { total: 2, ready: 2 },
    });
    expect(json.stderr).toBe('');
  });

  test('cox status and why: what is wrong, without control characters of others', async () => {
    await create(
      deployment('huge', {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '500' } } }],
      }),
    );
    await create(
      deployment('missing', { containers: [{ name: 'c', image: 'nginx:does-not-exist' }] }),
    );
    await eventually('pods with problems', async () => {
      const { items } = await connection.client.resource(pods).namespace('default').list();
      return (
        items.length === 4 && items.every(({ status }) => (status.conditions ?? []).length > 0)
      );
    });
    const [huge] = (
      await connection.client
        .resource(pods)
        .namespace('default')
        .list({ labelSelector: 'app=huge' })
    ).items;
    if (huge === undefined) throw new Error('the pod is gone');
    await connection.client
      .resource(events)
      .namespace('default')
      .create({
        metadata: { name: 'hostile' },
        involvedObject: {
          kind: 'Pod',
          namespace: 'default',
          name: huge.metadata.name,
          uid: huge.metadata.uid,
        },
        reason: 'FailedCreate',
        message: HOSTILE,
        type: 'Warning',
        lastTimestamp: new Date().toISOString(),
      });

    const status = await eventually('both problems', async () => {
      const result = await here('status', '--exit-code');
      return result.stdout.includes('ImagePull') && result;
    });
    expect(status.status).toBe(1);
    expect(status.stdout).toMatch(/^what is wrong\n/);
    expect(status.stdout).toMatch(
      /✗ pod\/huge-\S+ \(default\) and 1 more: is not scheduled: 0\/2 nodes are available/,
    );
    expect(status.stdout).toMatch(/more about one: .*cox(\.js)? why|main\.ts why/);

    const why = await here('why', 'deployment/huge');
    expect(why).toMatchObject({ status: 0 });
    expect(why.stdout).toContain('2 of 2 nodes: Insufficient cpu');
    expect(why.stdout).toContain('[scheduler plugin NodeResourcesFit (Filter)]');
    const pod = await here('why', 'pod', huge.metadata.name ?? '');
    expect(pod.stdout).toContain('hostile ^[[2J');
    expect(pod.stdout).toContain('replicaset/huge-');
    for (const { stdout } of [status, why, pod]) expect(stdout).not.toMatch(CONTROL);

    const json = await here('why', 'po', huge.metadata.name ?? '', '--output', 'json');
    const explanation = JSON.parse(json.stdout) as { because: { text: string }[] };
    expect(explanation.because.map(({ text }) => text)).toContainEqual(
      expect.stringContaining('Insufficient cpu'),
    );
    expect(json.stdout).not.toMatch(CONTROL);
  });

  test('cox why: mistakes are one line', async () => {
    for (const [args, message] of [
      [['pod/none'], /^cox: there is no pod "none" in the namespace default\n$/],
      [['nonsense/x'], /^cox: the server has no resource type "nonsense"\n$/],
      [['pod'], /^cox: name one object, such as pod\/web-0 or deployment\/web\n$/],
      [['pod/a/b'], /^cox: name one object/],
      [['pod/..%2f'], /^cox: /],
    ] as const) {
      const { status, stderr, stdout } = await here('why', ...args);
      expect(status).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toMatch(message);
    }
  });

  test('cox logs: of one component, since a time, the last lines', async () => {
    const all = await here('logs');
    expect(all.stdout).toMatch(/^cluster ready in /m);
    expect((await here('logs', 'scheduler', '--since', '1s', '--tail', '5')).status).toBe(0);
    const kubelet = await eventually('a line of the kubelet', async () => {
      const { stdout } = await here('logs', 'kubelet', '--tail', '1');
      return stdout !== '' && stdout;
    });
    expect(kubelet).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z [A-Z]+ +kubelet: .*\n$/);
    const unknown = await here('logs', 'nonsense');
    expect(unknown.stderr).toMatch(
      /^cox: there is no component "nonsense": there are cox, apiserver, /,
    );
    expect((await here('logs', 'containerd')).stderr).toContain('has run no containerd of its own');
  });

  test('cox kubeconfig: printed, merged into another, and for another user', async () => {
    const printed = await here('kubeconfig');
    expect(printed.stdout).toBe(readFileSync(join(dataDir, 'kubeconfig'), 'utf8'));
    const own = join(dir.path, 'own');
    writeFileSync(
      own,
      'apiVersion: v1\nkind: Config\nclusters: [{name: work, cluster: {server: https://work}}]\n',
    );
    const merge = ['kubeconfig', '--data-dir', dataDir, '--merge', '--name', 'demo'];
    expect((await cox(merge, { KUBECONFIG: own })).stdout).toContain('the context demo is in');
    const merged = parse(readFileSync(own, 'utf8'));
    expect(merged.clusters.map(({ name }: { name: string }) => name)).toEqual(['work', 'demo']);
    expect(merged['current-context']).toBe('demo');
    const itself = await cox(merge, { KUBECONFIG: join(dataDir, 'kubeconfig') });
    expect(itself).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is this kubeconfig already'),
    });

    const jane = await here('kubeconfig', '--user', 'jane', '--group', 'developers');
    const file = join(dir.path, 'jane');
    writeFileSync(file, jane.stdout);
    const why = await cox(['why', 'pod/x', '--kubeconfig', file]);
    expect(why.status).toBe(1);
    expect(why.stderr).toContain('User "jane" cannot get resource "pods"');
    // Nothing may be read: then nothing is said to be right.
    const limited = await cox(['status', '--kubeconfig', file]);
    expect(limited.stdout).toMatch(
      /^· nothing wrong was found, but not everything could be read\n/,
    );
    expect(limited.stdout).toMatch(/not read +Node: nodes is forbidden/);
    expect((await here('kubeconfig', '--user', 'a b')).stderr).toContain('is no name of a user');
  });

  test('cox top: from the metrics API, which is always served', async () => {
    const nodes = await here('top');
    expect(nodes.stdout.split('\n')[0]).toMatch(
      /^NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\)$/,
    );
    expect(nodes.stdout.split('\n')).toHaveLength(4);
    expect(nodes.stdout).not.toContain('<unknown>');
    const json = JSON.parse((await here('top', 'pods', '-A', '-o', 'json')).stdout);
    expect(json).toMatchObject({ source: 'metrics.k8s.io' });
  });

  test('cox image: says that a simulated cluster has none', async () => {
    const { status, stderr } = await here('image', 'list');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^cox: the cluster of .* has no containerd that runs\. Simulated pods take any image/,
    );
  });

  test('cox status: of a cluster that is reached by a kubeconfig alone; of one that does not run', async () => {
    const remote = await cox(['status', '--kubeconfig', join(dataDir, 'kubeconfig')]);
    expect(remote.stdout).toMatch(/API server +https:/);
    expect(remote.stdout).not.toContain('data directory');
    const none = await cox(['status', '--data-dir', join(dir.path, 'none')]);
    expect(none).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no cluster has ever run on'),
    });
    const unreachable = join(dir.path, 'unreachable');
    writeFileSync(
      unreachable,
      JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'x' } }],
        clusters: [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }],
      }),
    );
    const result = await cox(['status', '--kubeconfig', unreachable]);
    expect(result.stderr).toMatch(/^cox: https:\/\/127\.0\.0\.1:1 cannot be reached/);
    expect(result.status).toBe(1);
  });
});

describe('without a cluster', () => {
  test('cox doctor: every feature, with what repairs it', async () => {
    const text = await cox(['doctor']);
    expect(text.status).toBe(0);
    for (const name of ['any cluster', 'real containers', 'services and network policies', 'SCTP'])
      expect(text.stdout).toContain(name);
    const { features } = JSON.parse((await cox(['doctor', '-o', 'json'])).stdout) as {
      features: { name: string; state: string; findings: { repair: string[] }[] }[];
    };
    expect(features.length).toBeGreaterThan(4);
  });

  test('each command has a help whose examples are commands', async () => {
    for (const name of ['status', 'why', 'logs', 'kubeconfig', 'top', 'doctor', 'image']) {
      const { stdout, status } = await cox([name, '--help']);
      expect(status).toBe(0);
      expect(stdout).toMatch(/Examples:\n {2}\$ /);
    }
  });

  test('completion knows them', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await cox(['completion', shell]);
      for (const word of ['status', 'why', 'logs', 'kubeconfig', 'top', 'doctor', 'image', 'prune'])
        expect(stdout).toContain(word);
    }
  });

  test('a stopped cluster is said to be stopped', async () => {
    const dir = temporaryDir();
    try {
      const flags = ['--runtime', 'simulated'];
      await (await coxUp(flags, { dataDir: dir.path })).stop();
      const { stdout, status } = await cox(['status', '--exit-code', '--data-dir', dir.path]);
      expect(status).toBe(1);
      expect(stdout).toMatch(/✗ the cluster does not run: '.* up --data-dir/);
    } finally {
      dir.remove();
    }
  });
});

describe.skipIf(missingContainerd !== undefined)(named('cox image', missingContainerd), () => {
  test('loads archives and OCI layouts, at the start as well; lists; removes what no pod uses', async () => {
    const dir = temporaryDir();
    const dataDir = join(dir.path, 'data');
    const images = join(dir.path, 'images');
    mkdirSync(images);
    const archive = join(images, 'busybox.tar');
    writeBusyboxArchive(archive);
    const cluster = await coxUp(['--runtime', 'containerd', '--images', images], { dataDir });
    const image = (...args: string[]) => cox(['image', ...args, '--data-dir', dataDir]);
    const names = async (): Promise<string[]> => {
      const { stdout } = await image('list', '-o', 'json');
      const found = JSON.parse(stdout) as { images: { names: string[] }[] };
      return found.images.flatMap((each) => each.names);
    };
    try {
      expect(await names()).toContain('docker.io/library/busybox:latest');
      const pruned = await image('prune', '--dry-run');
      expect(pruned.stdout).toContain('docker.io/library/busybox:latest');
      expect(pruned.stdout).toContain('would be removed');
      expect((await image('prune')).stdout).toContain('removed: ');
      expect(await names()).not.toContain('docker.io/library/busybox:latest');
      expect((await names()).some((name) => name.includes('pause'))).toBe(true);

      const layout = join(dir.path, 'layout');
      mkdirSync(layout);
      await run('tar', ['-xf', archive, '-C', layout]);
      expect(existsSync(join(layout, 'oci-layout'))).toBe(true);
      const loaded = await image('load', layout);
      expect(loaded.stdout).toContain('docker.io/library/busybox:latest');
      expect((await image('load', archive)).stdout).toBe('the images were there already\n');
      const wrong = await image('load', dir.path);
      expect(wrong).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('needs oci-layout and index.json'),
      });
      writeFileSync(join(dir.path, 'bad.tar'), 'no archive');
      expect((await image('load', join(dir.path, 'bad.tar'))).stderr).toMatch(
        /cox: cannot import .*bad\.tar/,
      );
    } finally {
      await cluster.stop();
      await cox(['down', '--clean', '--data-dir', dataDir]);
      dir.remove();
    }
  });

  test('a folder without images is an error before the start', async () => {
    const dir = temporaryDir();
    try {
      const started = coxUp(['--runtime', 'containerd', '--images', dir.path], {
        dataDir: join(dir.path, 'data'),
      });
      await expect(started).rejects.toThrow(/--images: .* has neither archives/);
    } finally {
      dir.remove();
    }
  });
});
