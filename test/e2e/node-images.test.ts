// Images from registries, with real containers: passwords, mirrors, limits, and registries that fail.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { secrets, type Pod } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { registryDirIn } from '#runtime/containerd/index.ts';
import { busyboxBlobs } from '../fixtures/images/build.ts';
import { named } from './harness.ts';
import { missingLongTests, NODE, type RealNode, startRealNode } from './real-node.ts';
import {
  FaultyRegistry,
  missingRegistry,
  PASSWORD,
  type PasswordRegistry,
  startPasswordRegistry,
  USER,
} from './registry.ts';

const PULLS = 2;

function podWith(name: string, image: string, spec: New<v1.PodSpec> = {}): New<Pod> {
  return {
    metadata: { name },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image, command: ['sleep', '3600'] }],
      ...spec,
    },
  };
}

const missing = missingLongTests ?? missingRegistry;
describe.skipIf(missing !== undefined)(named('images', missing), () => {
  let node: RealNode;
  let dir: string;
  let calls: string;
  let locked: PasswordRegistry;
  const faulty = new FaultyRegistry();

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'cox-images-'));
    locked = await startPasswordRegistry(join(dir, 'registry'));
    await locked.push('team/app', '1', busyboxBlobs('team'));
    await locked.push('plugin/app', '1', busyboxBlobs('plugin'));
    await faulty.start();
    calls = join(dir, 'calls');
    const response = {
      kind: 'CredentialProviderResponse',
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      cacheKeyType: 'Registry',
      auth: { [`${locked.host}/plugin`]: { username: USER, password: PASSWORD } },
    };
    const script = `#!/bin/sh\ncat >> '${calls}'\necho >> '${calls}'\ncat <<'END'\n${JSON.stringify(response)}\nEND\n`;
    writeFileSync(join(dir, 'provider'), script, { mode: 0o755 });
    node = await startRealNode(
      64,
      (root) => {
        const mirrored = join(registryDirIn(join(root, 'containerd')), 'registry.test');
        mkdirSync(mirrored, { recursive: true });
        writeFileSync(
          join(mirrored, 'hosts.toml'),
          `server = "https://registry.test"\n[host."http://${faulty.host}"]\n  capabilities = ["pull", "resolve"]\n`,
        );
        return {
          maxParallelPulls: PULLS,
          // This machine's disk may be nearly full.
          eviction: { hard: { 'memory.available': '100Mi' } },
          credentialPlugins: {
            directory: dir,
            providers: [
              {
                name: 'provider',
                apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
                matchImages: [`${locked.host}/plugin`],
                defaultCacheMs: 60_000,
                args: [],
                env: {},
              },
            ],
          },
        };
      },
      { podCidr: '10.251.1.0/25' },
    );
  });
  afterEach(() => node?.deleteAll());
  afterAll(async () => {
    faulty.stop();
    await node?.stop();
    await locked?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const waiting = async (name: string): Promise<string | undefined> =>
    (await node.get(name)).status.containerStatuses?.[0]?.state.waiting?.reason;
  const eventOf = async (name: string, start: string): Promise<string> => {
    let found: string | undefined;
    await node.until(
      `event '${start}' of ${name}`,
      async () => {
        found = (await node.eventsOf(name)).find((text) => text.startsWith(start));
        return found !== undefined;
      },
      150_000,
    );
    return found ?? '';
  };

  test('without a password the pull fails, and is backed off from', async () => {
    const image = `${locked.host}/team/app:1`;
    await node.create(podWith('stranger', image));
    const event = await eventOf('stranger', 'Failed: Failed to pull');
    expect(event).toContain(
      `Failed: Failed to pull image "${image}": failed to pull and unpack image "${image}": ` +
        `failed to resolve reference "${image}": `,
    );
    expect(event).toMatch(/401 Unauthorized|no basic auth credentials/);
    await node.until(
      'the back-off',
      async () => (await waiting('stranger')) === 'ImagePullBackOff',
    );
    expect(await eventOf('stranger', 'BackOff')).toBe(`BackOff: Back-off pulling image "${image}"`);
    expect(await node.eventsOf('stranger')).toContain('Failed: Error: ErrImagePull');
  });

  test('the pull secret of a pod has the password', async () => {
    const auths = { [locked.host]: { username: USER, password: PASSWORD } };
    const config = Buffer.from(JSON.stringify({ auths })).toString('base64');
    const store = node.client.resource(secrets).namespace('default');
    await store.create({
      metadata: { name: 'pull' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': config },
    });
    const image = `${locked.host}/team/app:1`;
    await node.create(podWith('member', image, { imagePullSecrets: [{ name: 'pull' }] }));
    await node.ready('member');
    expect(await node.exec('member', 'cat', '/etc/mark')).toBe('team');
    await store.delete('pull');
  });

  test('a credential provider plugin has the password, and is asked once', async () => {
    const image = `${locked.host}/plugin/app:1`;
    await node.create(podWith('first', image));
    await node.ready('first');
    expect(await node.exec('first', 'cat', '/etc/mark')).toBe('plugin');
    // Another pull needs the credentials again.
    const always = {
      name: 'main',
      image,
      imagePullPolicy: 'Always',
      command: ['sleep', '3600'],
    } as const;
    await node.create(podWith('second', image, { containers: [always] }));
    await node.ready('second');
    const lines = readFileSync(calls, 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        kind: 'CredentialProviderRequest',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        image,
      },
    ]);
  });

  test('a mirror of a registry serves its images', async () => {
    faulty.add('mirrored', busyboxBlobs('mirrored'));
    await node.create(podWith('mirrored', 'registry.test/mirrored:1'));
    await node.ready('mirrored');
    expect(await node.exec('mirrored', 'cat', '/etc/mark')).toBe('mirrored');
    expect(faulty.requests).toContain('/v2/mirrored/manifests/1?ns=registry.test');
  });

  test('a limited number of pulls runs at a time; the others wait', async () => {
    for (const name of ['one', 'two', 'three']) {
      faulty.add(name, busyboxBlobs(name), 'hold');
      await node.create(podWith(name, `${faulty.host}/${name}:1`));
    }
    await node.until('two pulls', () => Promise.resolve(faulty.held.length === PULLS));
    const waitingOne = ['one', 'two', 'three'].find(
      (name) => !faulty.held.some(({ repository }) => repository === name),
    );
    expect(faulty.requests.some((path) => path.startsWith(`/v2/${waitingOne}/`))).toBe(false);
    faulty.held[0]?.release();
    await node.until('the third pull', () => Promise.resolve(faulty.held.length === PULLS + 1));
    expect(faulty.held.at(-1)?.repository).toBe(waitingOne);
    for (const { release } of faulty.held.slice(1)) release();
    for (const name of ['one', 'two', 'three']) await node.ready(name);
    const pulled = await eventOf(waitingOne ?? '', 'Pulled');
    const [, took, withWaiting] =
      /image "[^"]+" in (\S+) \((\S+) including waiting\)/.exec(pulled) ?? [];
    expect(took).toBeDefined();
    expect(withWaiting).not.toBe(took);
  });

  test.each([
    ['corrupt', /failed to extract|unexpected commit digest|failed commit on ref/],
    ['cut', /unexpected EOF|short read|failed to copy/],
  ] as const)('a layer that is %s fails the pull, until it is whole', async (behavior, problem) => {
    faulty.add(behavior, busyboxBlobs(behavior), behavior);
    const image = `${faulty.host}/${behavior}:1`;
    await node.create(podWith(behavior, image));
    await node.create(
      podWith('bystander', 'busybox', {
        containers: [
          {
            name: 'main',
            image: 'busybox',
            imagePullPolicy: 'IfNotPresent',
            command: ['sleep', '60'],
          },
        ],
      }),
    );
    const event = await eventOf(behavior, 'Failed: Failed to pull');
    expect(event).toContain(`Failed: Failed to pull image "${image}": `);
    expect(event).toMatch(problem);
    await node.ready('bystander');
    faulty.behaviors.set(behavior, 'serve');
    await node.ready(behavior);
  });

  test('a registry that hangs delays its own images only', async () => {
    faulty.add('hanging', busyboxBlobs('hanging'), 'hang');
    faulty.add('quick', busyboxBlobs('quick'));
    await node.create(podWith('hanging', `${faulty.host}/hanging:1`));
    await node.until('its request', () =>
      Promise.resolve(faulty.requests.some((path) => path.startsWith('/v2/hanging/blobs/'))),
    );
    await node.create(podWith('quick', `${faulty.host}/quick:1`));
    await node.ready('quick');
    expect(await waiting('hanging')).toBe('ContainerCreating');
    // A pod that waits for its image can be deleted.
    faulty.add('abandoned', busyboxBlobs('abandoned'), 'hang');
    await node.create(podWith('abandoned', `${faulty.host}/abandoned:1`));
    await node.until('its pull', async () => (await node.eventsOf('abandoned')).length > 0);
    await node.remove('abandoned');
    // The registry is restarted: containerd asks for the rest of the layer, or the pull fails and the
    // kubelet repeats it.
    faulty.behaviors.set('hanging', 'serve');
    faulty.dropConnections();
    await node.ready('hanging');
  });
});
