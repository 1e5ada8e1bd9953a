import { expect, test } from 'vitest';
import { type InterfaceEntry, linksOf } from './links.ts';

const at = (
  ifname: string,
  addresses: readonly string[],
  flags: readonly string[] = ['UP'],
): InterfaceEntry => ({
  ifname,
  flags,
  addr_info: addresses.map((text) => {
    const [local = '', length] = text.split('/');
    return { family: local.includes(':') ? 'inet6' : 'inet', local, prefixlen: Number(length) };
  }),
});
const INTERFACES = [
  at('lo', ['127.0.0.1/8', '::1/128'], ['UP', 'LOOPBACK']),
  at('eth0', ['10.0.0.1/24', 'fd00::1/64', 'fd00::240/128']),
  at('eth1', ['192.168.0.1/16']),
  at('down', ['172.16.0.1/16'], []),
  at('cox0123456789', ['10.244.0.1/24']),
  at('cxs0123456789', ['10.0.0.240/32']),
];

test.each([
  ['10.0.0.240', ['eth0']],
  ['192.168.3.4', ['eth1']],
  ['fd00::240', ['eth0']],
  ['10.244.0.9', ['eth1']],
  ['172.16.0.9', ['eth1']],
  ['203.0.113.1', ['eth1']],
  ['nonsense', []],
])('%s is at %j', (address, links) => {
  expect(linksOf(address, INTERFACES, [{ dev: 'eth1' }, { dev: 'cox0123456789' }])).toEqual(links);
});

test('without a network or a default route there is none', () => {
  expect(linksOf('203.0.113.1', INTERFACES, [])).toEqual([]);
});
