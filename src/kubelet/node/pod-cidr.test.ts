import { expect, test } from 'vitest';
import type { RuntimeConfig } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { PodCidrUpdater } from './pod-cidr.ts';

function setUp() {
  const clock = new VirtualClock();
  const calls: RuntimeConfig[] = [];
  const failures: Error[] = [];
  let updates = 0;
  const updater = new PodCidrUpdater({
    runtime: {
      updateRuntimeConfig(config) {
        calls.push(config);
        const failure = failures.shift();
        return failure === undefined ? Promise.resolve() : Promise.reject(failure);
      },
    },
    clock,
    logger: silentLogger,
    signal: new AbortController().signal,
    onUpdate: () => updates++,
  });
  return { clock, calls, failures, updater, updates: () => updates };
}

test('the runtime is updated once per change, with all families', async () => {
  const { clock, calls, updater, updates } = setUp();
  updater.nodeSeen({});
  updater.nodeSeen({ podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24', 'fd00::/64'] });
  updater.nodeSeen({ podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24', 'fd00::/64'] });
  await clock.advance(0);
  expect(calls).toEqual([{ networkConfig: { podCidr: '10.0.1.0/24,fd00::/64' } }]);
  expect(updates()).toBe(1);
});

test('a failure is retried with the newest ranges', async () => {
  const { clock, calls, failures, updater } = setUp();
  failures.push(new Error('busy'));
  updater.nodeSeen({ podCIDR: '10.0.1.0/24' });
  await clock.advance(0);
  updater.nodeSeen({ podCIDR: '10.0.2.0/24' });
  await clock.advance(1000);
  expect(calls.map(({ networkConfig }) => networkConfig?.podCidr)).toEqual([
    '10.0.1.0/24',
    '10.0.2.0/24',
  ]);
});
