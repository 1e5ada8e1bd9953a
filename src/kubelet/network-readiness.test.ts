// Containers wait until the network of their pod is ready.

import { afterEach, expect, test } from 'vitest';
import type { NetworkReadiness } from './network-readiness.ts';
import { type Harness, startHarness } from './testing/harness.ts';

let t: Harness;
afterEach(() => t.stop());

class FakeReadiness implements NetworkReadiness {
  readonly announced: string[] = [];
  readonly forgotten: string[] = [];
  #ready: (() => void)[] = [];
  isReady = false;

  podAddressesReady(
    pod: { readonly metadata: { readonly name: string } },
    addresses: readonly string[],
  ): Promise<void> {
    this.announced.push(`${pod.metadata.name} ${addresses.join(' ')}`);
    return this.isReady ? Promise.resolve() : new Promise((resolve) => this.#ready.push(resolve));
  }

  podForgotten(uid: string): void {
    this.forgotten.push(uid);
  }

  letGo(): void {
    this.isReady = true;
    for (const ready of this.#ready.splice(0)) ready();
  }
}

const containersOf = async (): Promise<string[]> =>
  (await t.runtime.runtime.listContainers({})).map(({ metadata }) => metadata?.name ?? '');

test('no container is created before the addresses of the sandbox are ready', async () => {
  const network = new FakeReadiness();
  t = await startHarness({ networkReadiness: network });
  await t.createPod('a', {
    initContainers: [{ name: 'init', image: 'busybox:1.36', command: ['true'] }],
  });
  await t.clock.runUntil(() => network.announced.length > 0, '1m');
  const [sandbox] = await t.runtime.runtime.listPodSandbox({});
  const { status } = await t.runtime.runtime.podSandboxStatus(sandbox?.id ?? '');
  expect(network.announced).toEqual([`a ${status?.network?.ip}`]);
  expect(await containersOf()).toEqual([]);
  network.letGo();
  const pod = await t.waitForPod('a', ({ status: { phase } = {} }) => phase === 'Running');
  await t.deletePod('a', 0);
  await t.waitForGone('a');
  await t.clock.runUntil(() => network.forgotten.includes(pod.metadata.uid ?? ''), '1m');
});

test('pods of the node network do not wait', async () => {
  const network = new FakeReadiness();
  t = await startHarness({ networkReadiness: network });
  await t.createPod('host', { hostNetwork: true });
  await t.waitForPod('host', ({ status: { phase } = {} }) => phase === 'Running');
  expect(network.announced).toEqual([]);
});

test('a network that is not ready in time is reported in an event and retried', async () => {
  const network = new FakeReadiness();
  t = await startHarness({ networkReadiness: network });
  await t.createPod('a');
  await t.clock.runUntil(() => network.announced.length > 1, '5m');
  expect(await t.eventsOf('a')).toContain(
    'NetworkNotReady: network is not ready: network policies are not programmed yet',
  );
  expect(await containersOf()).toEqual([]);
  network.letGo();
  await t.waitForPod('a', ({ status: { phase } = {} }) => phase === 'Running');
});
