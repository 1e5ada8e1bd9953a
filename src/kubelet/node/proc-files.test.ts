import { expect, test } from 'vitest';

import { maxTasks, netDevices, runningTasks } from './proc-files.ts';

const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0: 5301 20 1 2 0 0 0 3 1299 17 4 5 0 0 0 0
veth12: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
broken: 1 x
`;

test('interfaces of /proc/net/dev', () => {
  expect(netDevices(NET_DEV)).toEqual([
    {
      name: 'eth0',
      rxBytes: 5301,
      rxPackets: 20,
      rxErrors: 1,
      rxDropped: 2,
      txBytes: 1299,
      txPackets: 17,
      txErrors: 4,
      txDropped: 5,
    },
  ]);
  expect(netDevices('')).toEqual([]);
});

test('limits and numbers of tasks', () => {
  expect(maxTasks('32768\n', '127053\n')).toBe(32_768);
  expect(maxTasks(undefined, '127053\n')).toBe(127_053);
  expect(maxTasks(undefined, 'x')).toBeUndefined();
  expect(runningTasks('1.36 3.49 4.53 2/3518 3715089\n')).toBe(3518);
  expect(runningTasks('1.36')).toBeUndefined();
});
