import type { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { machineInterfaces } from './machine-interfaces.ts';

test('service addresses are not the machine’s, on whatever interface they are', () => {
  const list = (...addresses: string[]) => addresses.map((address) => ({ address }));
  const all = {
    eth0: list('10.0.0.1', 'fd00::100', 'fd00::1'),
    cxs0123456789: list('10.0.0.240', 'fd00::100'),
    cxs: list('10.9.9.9'),
  };
  expect(machineInterfaces(all as unknown as ReturnType<typeof networkInterfaces>)).toEqual({
    eth0: list('10.0.0.1', 'fd00::1'),
    cxs: list('10.9.9.9'),
  });
});
