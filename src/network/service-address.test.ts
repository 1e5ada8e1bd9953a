import { expect, test } from 'vitest';
import { isServiceInterface, serviceInterface } from '#machinery/net/service-interface.ts';
import { otherInterfaceWith, serviceInterfaceName } from './service-address.ts';

test('the interface of a directory has a stable and valid name', () => {
  const name = serviceInterfaceName('/var/lib/a');
  expect(serviceInterfaceName('/var/lib/a')).toBe(name);
  expect(serviceInterfaceName('/var/lib/b')).not.toBe(name);
  expect(name.length).toBeLessThanOrEqual(15);
  expect(isServiceInterface(name)).toBe(true);
});

test('interfaces of other programs are not mistaken for one', () => {
  for (const name of ['eth0', 'cxs', 'cxs0123456789a', 'cxsabcdefghij', 'cox0123456789'])
    expect(isServiceInterface(name)).toBe(false);
  expect(() => serviceInterface('../../etc')).toThrow('is not ten hexadecimal digits');
});

test('another interface with the address is found', () => {
  expect(otherInterfaceWith('127.0.0.1', 'cxs0123456789')).toMatch(/^lo/);
  expect(otherInterfaceWith('127.0.0.1', 'lo')).toBeUndefined();
  expect(otherInterfaceWith('192.0.2.200', 'lo')).toBeUndefined();
});
