// Nodes through the API.

import { beforeEach, describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/api/v1/nodes';
const CONFIG = 'configSource: {configMap: {name: cm, namespace: ns, kubeletConfigKey: k}}';

const t = serverPerTest();
const api = new Api(t);

const manifest = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Node\nmetadata: {name: ${name}}\n${more}`;

test('a new one keeps its status', async () => {
  const { json } = await api.post(
    PATH,
    manifest('a', 'spec: {podCIDR: 10.0.1.0/24}\nstatus: {capacity: {cpu: 4000m, pods: "110"}}'),
  );
  expect(json).toMatchObject({
    spec: { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24'] },
    status: { capacity: { cpu: '4', pods: '110' }, allocatable: { cpu: '4', pods: '110' } },
  });
  expect(json.metadata.generation).toBeUndefined();
});

test('the fields of dynamic kubelet configuration are dropped', async () => {
  const created = await api.post(PATH, manifest('a', `spec: {${CONFIG}}`));
  expect(created.json.spec).toEqual({});
  expect(created.warnings).toEqual([]);
  expect((await api.put(`${PATH}/a`, manifest('a', `spec: {${CONFIG}}`))).json.spec).toEqual({});
  const { json } = await api.patch(`${PATH}/a/status`, { status: { config: { error: 'x' } } });
  expect(json.status).not.toHaveProperty('config');
});

test('unused fields cause warnings', async () => {
  const { warnings } = await api.post(PATH, manifest('a', 'spec: {externalID: x}'));
  expect(warnings).toEqual([
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ]);
});

describe('updates', () => {
  const patch = async (spec: object, query = '') =>
    outcome(await api.patch(`${PATH}/a${query}`, { spec }));
  const refused = (problem: string): string => `422 Invalid: Node "a" is invalid: ${problem}`;
  beforeEach(async () => {
    await api.post(
      PATH,
      manifest('a', 'spec: {podCIDR: 10.0.1.0/24, providerID: x}\nstatus: {capacity: {cpu: "4"}}'),
    );
  });

  test('of the spec do not change the status', async () => {
    const { json } = await api.patch(`${PATH}/a`, {
      spec: { unschedulable: true },
      status: { capacity: { cpu: '8' } },
    });
    expect(json).toMatchObject({
      spec: { unschedulable: true },
      status: { capacity: { cpu: '4' } },
    });
  });

  test('of the status do not change the spec', async () => {
    const { json } = await api.patch(`${PATH}/a/status`, {
      spec: { unschedulable: true },
      status: { capacity: { cpu: '8' } },
    });
    expect(json.spec).not.toHaveProperty('unschedulable');
    expect(json).toMatchObject({ status: { capacity: { cpu: '8' }, allocatable: { cpu: '4' } } });
  });

  test.each<[what: string, spec: object, problem: string]>([
    [
      'the range of its pods',
      { podCIDR: '10.0.2.0/24', podCIDRs: ['10.0.2.0/24'] },
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    ],
    [
      'its provider',
      { providerID: 'y' },
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ],
    [
      'a taint with an unknown effect, which is reported once',
      { taints: [{ key: 'a', effect: 'X' }] },
      'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", ' +
        '"PreferNoSchedule", "NoExecute"',
    ],
  ])('do not change %s', async (_, spec, problem) => {
    expect(await patch(spec)).toBe(refused(problem));
  });

  test('are validated for the status, too', async () => {
    const answer = await api.patch(`${PATH}/a/status`, { status: { capacity: { cpu: '-1' } } });
    expect(outcome(answer)).toBe(
      refused('status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'),
    );
  });
});

test.each<[selector: string, names: string[]]>([
  ['spec.unschedulable=true', ['b']],
  ['spec.unschedulable=false', ['a']],
  ['metadata.name!=a', ['b']],
])('nodes are selected by %s', async (selector, names) => {
  await api.post(PATH, manifest('a'));
  await api.post(PATH, manifest('b', 'spec: {unschedulable: true}'));
  const { json } = await api.get(`${PATH}?fieldSelector=${encodeURIComponent(selector)}`);
  expect(json.items.map(({ metadata }) => metadata.name)).toEqual(names);
});
