// Resolving a service to one of its ready endpoints.

import { expect, test } from 'vitest';

import { SeededRandom } from '#machinery/random.ts';
import type { Find, FindAll } from '../catalog/internal-client.ts';
import { resolveService } from './resolve.ts';

interface World {
  readonly service?: object;
  readonly slices?: readonly object[];
  readonly endpoints?: object;
}

const metadata = { name: 'svc', namespace: 'ns' };
const slice = (more: object): object => ({
  metadata: { name: 'x', namespace: 'ns', labels: { 'kubernetes.io/service-name': 'svc' } },
  addressType: 'IPv4',
  ports: [{ name: 'https', port: 8443 }],
  endpoints: [],
  ...more,
});
const endpoint = (ip: string, ready?: boolean): object => ({
  addresses: [ip],
  conditions: ready === undefined ? {} : { ready },
});

function resolve(
  { service, slices = [], endpoints }: World,
  port = 443,
  seed = 1,
): Promise<string> {
  const find = (_group: string, resource: string) =>
    resource === 'services'
      ? service && { metadata, ...service }
      : resource === 'endpoints'
        ? endpoints
        : undefined;
  const services = {
    find: find as Find,
    findAll: (() => slices) as unknown as FindAll,
    random: new SeededRandom(seed),
  };
  return resolveService(services, 'ns', 'svc', port).then(
    ({ host, port: number }) => `${host} ${number}`,
  );
}

const service = {
  spec: { ports: [{ name: 'https', port: 443, targetPort: 'web' }], ipFamilies: ['IPv4'] },
};

test('a named port of a slice is resolved to the endpoint’s number', async () => {
  const slices = [
    slice({
      ports: [
        { name: 'other', port: 1 },
        { name: 'https', port: 9443 },
      ],
      endpoints: [endpoint('10.0.0.1')],
    }),
  ];
  expect(await resolve({ service, slices })).toBe('10.0.0.1 9443');
  await expect(resolve({ service, slices }, 444)).rejects.toThrow(
    'no service port 444 found for service "svc"',
  );
});

test('endpoints that are not ready, of other services or with names are skipped', async () => {
  const other = slice({
    metadata: { name: 'y', namespace: 'ns', labels: {} },
    endpoints: [endpoint('10.0.0.9')],
  });
  const names = slice({ addressType: 'FQDN', endpoints: [endpoint('example.com')] });
  const slices = [
    other,
    names,
    slice({ endpoints: [endpoint('10.0.0.1', false), endpoint('10.0.0.2', true)] }),
  ];
  for (let seed = 0; seed < 20; seed++)
    expect(await resolve({ service, slices }, 443, seed)).toBe('10.0.0.2 8443');
  await expect(resolve({ service, slices: [other] })).rejects.toThrow(
    'no endpoints available for service "svc"',
  );
});

test('all ready endpoints are used in turn, those of the first family first', async () => {
  const v6 = slice({ addressType: 'IPv6', endpoints: [endpoint('fd00::1')] });
  const slices = [
    v6,
    slice({ endpoints: [endpoint('10.0.0.1'), endpoint('10.0.0.2')] }),
    slice({ endpoints: [endpoint('10.0.0.3')] }),
  ];
  const chosen = new Set<string>();
  for (let seed = 0; seed < 50; seed++) chosen.add(await resolve({ service, slices }, 443, seed));
  expect([...chosen].toSorted()).toEqual(['10.0.0.1 8443', '10.0.0.2 8443', '10.0.0.3 8443']);
  expect(await resolve({ service, slices: [v6] })).toBe('fd00::1 8443');
});

test('a service without slices uses its Endpoints object', async () => {
  const endpoints = {
    subsets: [
      {
        addresses: [{ ip: '10.0.0.5' }],
        notReadyAddresses: [{ ip: '10.0.0.6' }],
        ports: [{ name: 'https', port: 1 }],
      },
    ],
  };
  expect(await resolve({ service, endpoints })).toBe('10.0.0.5 1');
});

test('an external name is used as it is, and a missing service is an error', async () => {
  expect(
    await resolve(
      { service: { spec: { type: 'ExternalName', externalName: 'db.example.com' } } },
      7,
    ),
  ).toBe('db.example.com 7');
  await expect(resolve({})).rejects.toThrow('service "svc" not found');
});
