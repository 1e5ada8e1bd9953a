// Services in a dual-stack cluster: their default families, and changes between one and two
// families.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { indent } from '#api/testing/manifest.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import type { RawResponse } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

const PATH = '/api/v1/namespaces/default/services';
let t: TestServer;
let api: Api;
async function start(config: Parameters<typeof startTestServer>[0] = {}): Promise<void> {
  t = await startTestServer({ serviceCidr: '10.0.0.0/24,fd00::/120', ...config });
  api = new Api(t);
}
beforeEach(() => start());
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const create = (name: string, spec: string): Promise<RawResponse> =>
  api.post(
    PATH,
    `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n${indent(`ports: [{port: 80}]\n${spec}`)}`,
  );
const merge = (name: string, spec: object): Promise<RawResponse> =>
  api.patch(`${PATH}/${name}`, { spec });
const addressesOf = ({ json }: RawResponse): readonly string[] =>
  (json.spec?.['clusterIPs'] ?? []) as string[];
/** Returns the policy with the addresses: 'PreferDualStack IPv4=10.0.0.x IPv6=fd00::x'. */
function shape(response: RawResponse): string {
  const text = outcome(response);
  if (!/^20[01]$/.test(text)) return text;
  const {
    ipFamilyPolicy,
    ipFamilies = [],
    clusterIPs = [],
    clusterIP,
  } = response.json.spec as {
    ipFamilyPolicy?: string;
    ipFamilies?: string[];
    clusterIPs?: string[];
    clusterIP?: string;
  };
  expect(clusterIP).toBe(clusterIPs[0]);
  const addresses = clusterIPs.map((address) =>
    address.replace(/^10\.0\.0\.\d+$/, '4').replace(/^fd00::[0-9a-f]+$/, '6'),
  );
  return [ipFamilyPolicy, ipFamilies.join(','), addresses.join(',')].join(' ');
}

describe('a new service', () => {
  test.each([
    ['', 'SingleStack IPv4 4'],
    ['ipFamilies: [IPv6]', 'SingleStack IPv6 6'],
    ['ipFamilyPolicy: PreferDualStack', 'PreferDualStack IPv4,IPv6 4,6'],
    ['ipFamilyPolicy: RequireDualStack', 'RequireDualStack IPv4,IPv6 4,6'],
    ['{ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6]}', 'PreferDualStack IPv6,IPv4 6,4'],
    [
      '{ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}',
      'PreferDualStack IPv6,IPv4 6,4',
    ],
    ['clusterIP: "fd00::9"', 'SingleStack IPv6 6'],
    ['{ipFamilyPolicy: RequireDualStack, clusterIP: "fd00::9"}', 'RequireDualStack IPv6,IPv4 6,4'],
    [
      '{ipFamilyPolicy: RequireDualStack, clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9, "fd00::9"]}',
      'RequireDualStack IPv4,IPv6 4,6',
    ],
    [
      'clusterIP: None\nselector: {a: b}\nipFamilyPolicy: PreferDualStack',
      'PreferDualStack IPv4,IPv6 None',
    ],
    ['clusterIP: None\nselector: {a: b}', 'SingleStack IPv4 None'],
  ])('with %j', async (spec, expected) => {
    const lines = spec.startsWith('{') ? spec.slice(1, -1).replace(/, (?=\w+:)/g, '\n') : spec;
    expect(shape(await create('it', lines))).toBe(expected);
  });

  test.each([
    [
      'ipFamilies: [IPv4, IPv6]',
      /must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified/,
    ],
    [
      'ipFamilyPolicy: RequireDualStack\nclusterIP: "fd01::9"',
      /failed to allocate IP fd01::9: the provided network does not match/,
    ],
    ['ipFamilies: [IPv4]\nclusterIP: "fd00::9"', /spec\.clusterIPs\[0\]: Invalid value/],
  ])('rejected: %j', async (spec, problem) => {
    expect(outcome(await create('it', spec))).toMatch(problem);
  });

  test('a rejected service allocates nothing, and a deleted one releases everything', async () => {
    await create('first', 'clusterIP: "fd00::9"');
    const both =
      'ipFamilyPolicy: RequireDualStack\nclusterIP: 10.0.0.9\nclusterIPs: [10.0.0.9, "fd00::9"]';
    expect(outcome(await create('it', both))).toMatch(
      /failed to allocate IP fd00::9: provided IP is already allocated/,
    );
    expect(shape(await create('other', 'clusterIP: 10.0.0.9'))).toBe('SingleStack IPv4 4');
    for (const name of ['first', 'other']) await api.delete(`${PATH}/${name}`);
    expect(shape(await create('it', both))).toBe('RequireDualStack IPv4,IPv6 4,6');
  });
});

describe('a service that changes', () => {
  test('gets a second address, and releases it', async () => {
    const before = await create('it', '');
    const after = await merge('it', { ipFamilyPolicy: 'PreferDualStack' });
    expect(shape(after)).toBe('PreferDualStack IPv4,IPv6 4,6');
    const [first, second = ''] = addressesOf(after);
    expect(first).toBe(before.json.spec?.['clusterIP']);
    expect(outcome(await create('thief', `clusterIP: "${second}"`))).toMatch(/already allocated/);
    expect(shape(await merge('it', { ipFamilyPolicy: 'SingleStack' }))).toBe('SingleStack IPv4 4');
    expect(shape(await create('heir', `clusterIP: "${second}"`))).toBe('SingleStack IPv6 6');
  });

  test('keeps its fields if the client omits them', async () => {
    await create('it', 'ipFamilyPolicy: PreferDualStack');
    const { json } = await api.get(`${PATH}/it`);
    const put = await api.put(`${PATH}/it`, {
      ...json,
      spec: { ports: [{ port: 81 }], ipFamilyPolicy: 'PreferDualStack' },
    });
    expect(put.json.spec?.['clusterIPs']).toEqual(json.spec?.['clusterIPs']);
    expect(
      outcome(await merge('it', { clusterIPs: [json.spec?.['clusterIP']], ipFamilies: ['IPv4'] })),
    ).toMatch(/must be 'SingleStack' to release the secondary/);
  });

  test('to another type and back', async () => {
    const created = await create('it', 'ipFamilyPolicy: RequireDualStack');
    const [, second = ''] = addressesOf(created);
    expect(shape(await merge('it', { type: 'ExternalName', externalName: 'a.b' }))).toBe('  ');
    expect(shape(await create('heir', `clusterIP: "${second}"`))).toBe('SingleStack IPv6 6');
    expect(
      shape(
        await merge('it', {
          type: 'ClusterIP',
          externalName: null,
          ipFamilyPolicy: 'RequireDualStack',
        }),
      ),
    ).toBe('RequireDualStack IPv4,IPv6 4,6');
  });
});

test('both addresses stay allocated after a restart', async () => {
  const there = addressesOf(await create('it', 'ipFamilyPolicy: RequireDualStack'));
  await t.server.stop();
  const again = await startTestServer({
    serviceCidr: '10.0.0.0/24,fd00::/120',
    storage: t.storage,
  });
  api = new Api(again);
  for (const clusterIP of there)
    expect(outcome(await create('thief', `clusterIP: "${clusterIP}"`))).toMatch(
      /already allocated/,
    );
  await again.server.stop();
});

test('the first range is the default for services without a family', async () => {
  await t.stop();
  await start({ serviceCidr: 'fd00::/120,10.0.0.0/24' });
  expect(shape(await create('it', ''))).toBe('SingleStack IPv6 6');
  expect((await api.get(`${PATH}/kubernetes`)).json.spec?.['clusterIP']).toBe('fd00::1');
});
