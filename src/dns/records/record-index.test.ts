import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import { addressBytes, addressLabel, formatAddress, parseAddressLabel } from './addresses.ts';
import { packSlice, type PackedSlice } from './packed.ts';
import { addressOf, RecordIndex } from './record-index.ts';

const slice = (name: string, service: string, addresses: readonly string[]): PackedSlice =>
  packSlice({
    metadata: { name, namespace: 'shop', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: {} })),
    ports: null,
  } as unknown as EndpointSlice);

const address = fc.integer({ min: 1, max: 6 }).map((last) => `10.0.0.${last}`);
const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  service: fc.constantFrom('web', 'db'),
  addresses: fc.option(fc.array(address, { maxLength: 4 }), { nil: undefined }),
});

test('after any changes it equals an index of the present objects', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const index = new RecordIndex(() => undefined);
      const present = new Map<string, PackedSlice>();
      for (const { name, service, addresses } of changes) {
        if (addresses === undefined) {
          present.delete(name);
          index.removeSlice(`shop/${name}`);
        } else {
          present.set(name, slice(name, service, addresses));
          index.putSlice(present.get(name)!);
        }
      }
      for (const service of ['shop/web', 'shop/db']) {
        expect(new Set(index.slicesOf(service))).toEqual(
          new Set([...present.values()].filter((each) => each.service === service)),
        );
      }
      for (let last = 1; last <= 6; last++) {
        const at = addressBytes(`10.0.0.${last}`) as Uint8Array;
        const found = index
          .endpointsAt(at)
          .map((endpoint) => `${endpoint.slice.metadata.name} ${endpoint.position}`);
        const expected = [...present.values()].flatMap((each) =>
          Array.from({ length: each.addresses.length / 4 }, (_, position) => ({
            slice: each,
            position,
          }))
            .filter((endpoint) => formatAddress(addressOf(endpoint)) === `10.0.0.${last}`)
            .map(({ position }) => `${each.metadata.name} ${position}`),
        );
        expect(found.toSorted()).toEqual(expected.toSorted());
      }
    }),
  );
});

test('the address of a removed service stays with the service that has it by now', () => {
  const index = new RecordIndex(() => undefined);
  const service = (key: string) => ({ key, addresses: [Uint8Array.of(10, 96, 0, 5)] }) as never;
  index.putService(service('shop/old'));
  index.putService(service('shop/new'));
  index.removeService('shop/old');
  expect(index.serviceAt(Uint8Array.of(10, 96, 0, 5))?.key).toBe('shop/new');
  index.removeService('shop/new');
  expect(index.serviceAt(Uint8Array.of(10, 96, 0, 5))).toBeUndefined();
});

test('addresses as bytes, as text and as labels', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ minLength: 4, maxLength: 4 }),
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
      ),
      (bytes) => {
        expect(addressBytes(formatAddress(bytes))).toEqual(bytes);
        expect(parseAddressLabel(addressLabel(bytes))).toEqual(bytes);
      },
    ),
  );
  expect(addressLabel(addressBytes('fd00::') as Uint8Array)).toBe('fd00--0');
  expect(addressBytes('::ffff:10.0.0.1')).toEqual(
    Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1),
  );
  for (const text of ['', '10.0.0', '010.0.0.1', 'fe80::1%eth0', 'web'])
    expect(addressBytes(text)).toBeUndefined();
});

test('endpoints that are not ready, and invalid addresses, are left out', () => {
  const packed = packSlice({
    metadata: { name: 's', namespace: 'shop', labels: {} },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.0.0.1'], conditions: { ready: false } },
      { addresses: ['fd00::1'], conditions: {} },
      { addresses: ['10.0.0.2'], conditions: {}, hostname: 'a.b' },
      { addresses: ['10.0.0.3'], conditions: { ready: true }, hostname: 'db-0' },
    ],
    ports: [{ name: 'PG', port: 5432 }],
  } as unknown as EndpointSlice);
  expect([...packed.addresses]).toEqual([10, 0, 0, 2, 10, 0, 0, 3]);
  // A hostname with a dot would be two labels.
  expect(packed.hostnames).toEqual([undefined, 'db-0']);
  expect(packed.ports).toEqual([{ name: 'pg', protocol: 'tcp', port: 5432 }]);
});
