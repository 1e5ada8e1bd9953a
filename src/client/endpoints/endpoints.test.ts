import { describe, expect, test } from 'vitest';
import type { Endpoints, Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type Endpoint,
  endpointsOf,
  endpointsOfObject,
  endpointsOfPort,
  select,
  usableEndpoints,
} from './index.ts';

type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

const at = (address: string, more: object = {}): SliceEndpoint =>
  ({ addresses: [address], ...more }) as SliceEndpoint;
const going = { conditions: { ready: false, serving: true, terminating: true } };
const slice = (endpoints: readonly SliceEndpoint[], more: object = {}): Immutable<EndpointSlice> =>
  ({
    metadata: { name: 'web-1', namespace: 'ns' },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
    ...more,
  }) as unknown as Immutable<EndpointSlice>;
const ips = (endpoints: readonly Endpoint[] = []): string =>
  endpoints.map(({ ip }) => ip).join(' ');

describe('endpointsOf', () => {
  test('sorts, merges slices, and returns addresses in canonical form', () => {
    const v6 = { addressType: 'IPv6' };
    expect(
      ips(
        endpointsOf([slice([at('10.0.0.2')]), slice([at('10.0.0.1'), at('10.0.0.2')])], 'IPv4').get(
          'http/tcp',
        ),
      ),
    ).toBe('10.0.0.1 10.0.0.2');
    expect(ips(endpointsOf([slice([at('FD00::0A')], v6)], 'IPv6').get('http/tcp'))).toBe('fd00::a');
  });

  test('a reused address belongs to the new endpoint, in any order of slices', () => {
    const [old, fresh] = [slice([at('10.0.0.1', going)]), slice([at('10.0.0.1')])];
    for (const slices of [
      [old, fresh],
      [fresh, old],
    ]) {
      expect(endpointsOf(slices, 'IPv4').get('http/tcp')).toMatchObject([
        { ready: true, terminating: false },
      ]);
    }
  });

  test('leaves out addresses of the own machine or link, and reports them', () => {
    const problems = new Set<string>();
    const endpoints = ['127.0.0.1', '169.254.169.254', '224.0.0.1', '0.0.0.0', 'x', '10.0.0.1'].map(
      (ip) => at(ip),
    );
    expect(ips(endpointsOf([slice(endpoints)], 'IPv4', { problems }).get('http/tcp'))).toBe(
      '10.0.0.1',
    );
    expect(problems.size).toBe(5);
    const all = endpointsOf([slice(endpoints)], 'IPv4', { anyAddress: true }).get('http/tcp');
    expect(ips(all)).toBe('0.0.0.0 10.0.0.1 127.0.0.1 169.254.169.254 224.0.0.1');
    const embedded = ['::ffff:127.0.0.1', '64:ff9b::7f00:1', '::1', 'fe80::1'].map((ip) => at(ip));
    expect(endpointsOf([slice(embedded, { addressType: 'IPv6' })], 'IPv6').get('http/tcp')).toEqual(
      [],
    );
  });
});

test('terminating endpoints that serve are used if none is ready', () => {
  const of = (...endpoints: SliceEndpoint[]): string =>
    ips(usableEndpoints(endpointsOf([slice(endpoints)], 'IPv4').get('http/tcp') ?? []));
  expect(of(at('10.0.0.1', going), at('10.0.0.2'))).toBe('10.0.0.2');
  expect(
    of(at('10.0.0.1', going), at('10.0.0.2', { conditions: { ready: false, serving: false } })),
  ).toBe('10.0.0.1');
});

test('hints count if all ready endpoints have hints and one is for the node or its zone', () => {
  const zone = (name: string): object => ({ hints: { forZones: [{ name }] } });
  const chosen = (...endpoints: SliceEndpoint[]): string => {
    const all = endpointsOf([slice(endpoints)], 'IPv4').get('http/tcp') ?? [];
    return ips(
      select(all, { usesCluster: true, usesLocal: false }, { name: 'node', zone: 'east' }).cluster,
    );
  };
  expect(chosen(at('10.0.0.1', zone('east')), at('10.0.0.2', zone('west')))).toBe('10.0.0.1');
  expect(chosen(at('10.0.0.1', zone('east')), at('10.0.0.2'))).toBe('10.0.0.1 10.0.0.2');
  expect(chosen(at('10.0.0.1', zone('west')), at('10.0.0.2', zone('west')))).toBe(
    '10.0.0.1 10.0.0.2',
  );
});

test('a client without a node gets the first family of the service first', () => {
  const service = { spec: { ipFamilies: ['IPv6', 'IPv4'] } } as unknown as Immutable<Service>;
  const slices = [slice([at('10.0.0.1')]), slice([at('fd00::1')], { addressType: 'IPv6' })];
  expect(endpointsOfPort(service, slices, { name: 'http' }).map((family) => ips(family))).toEqual([
    'fd00::1',
    '10.0.0.1',
  ]);
  expect(endpointsOfPort(service, slices, { name: 'https' })).toEqual([]);
  expect(endpointsOfPort(service, slices, { name: 'http', protocol: 'ICMP' as never })).toEqual([]);
});

test('an Endpoints object has ready endpoints by the name of the port', () => {
  const object = {
    subsets: [
      {
        addresses: [{ ip: '10.0.0.1', targetRef: { kind: 'Pod' } }],
        ports: [{ name: 'http', port: 80 }],
      },
      { notReadyAddresses: [{ ip: '10.0.0.2' }], ports: [{ name: 'http', port: 80 }] },
    ],
  } as unknown as Immutable<Endpoints>;
  expect(endpointsOfObject(object, 'http')).toMatchObject([
    { ip: '10.0.0.1', port: 80, targetRef: { kind: 'Pod' } },
  ]);
  expect(endpointsOfObject(object, '')).toEqual([]);
  expect(endpointsOfObject(undefined, 'http')).toEqual([]);
});
