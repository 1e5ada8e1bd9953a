import { expect, test } from 'vitest';
import { isServiceInterface, serviceInterface } from '#machinery/net/service-interface.ts';
import { otherInterfaceWith, serviceInterfaceName } from './service-address.ts';

test('the interface of a directory has the same name each time, which the kernel takes', () => {
  const name = serviceInterfaceName('/var/lib/a');
  expect(serviceInterfaceName('/var/lib/a')).toBe(name);
  expect(serviceInterfaceName('/var/lib/b')).not.toBe(name);
  expect(name.length).toBeLessThanOrEqual(15);
  expect(isServiceInterface(name)).toBe(true);
});

test('interfaces of others are not taken for one', () => {
  for (const name of ['eth0', 'cxs', 'cxs0123456789a', 'cxsabcdefghij', 'cox0123456789'])
    expect(isServiceInterface(name)).toBe(false);
  expect(() => serviceInterface('../../etc')).toThrow('is not ten hexadecimal digits');
});

test('an address that an interface has is found, unless it is the one that is meant', () => {
  expect(otherInterfaceWith('127.0.0.1', 'cxs0123456789')).toMatch(/^lo/);
  expect(otherInterfaceWith('127.0.0.1', 'lo')).toBeUndefined();
  expect(otherInterfaceWith('192.0.2.200', 'lo')).toBeUndefined();
});
