import { expect, test } from 'vitest';

import { Api, outcome } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PODS = '/api/v1/namespaces/default/pods';
const POD_LEVEL = 'InPlacePodLevelResourcesVerticalScaling';
const INIT_CONTAINERS = 'InPlacePodVerticalScalingInitContainers';

const t = serverPerTest();
const api = new Api(t);

const amounts = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

async function create(nodeName: string, declaredFeatures?: readonly string[]): Promise<void> {
  const allocatable = { cpu: '8', memory: '1Gi' };
  const status = { capacity: allocatable, allocatable, declaredFeatures };
  await api.post('/api/v1/nodes', { metadata: { name: nodeName }, status });
  const { code } = await api.post(PODS, {
    metadata: { name: 'p' },
    spec: {
      nodeName,
      resources: amounts('4'),
      initContainers: [
        { name: 'init', image: 'i', resources: amounts('1') },
        { name: 'sidecar', image: 'i', restartPolicy: 'Always', resources: amounts('1') },
      ],
      containers: [{ name: 'c', image: 'i', resources: amounts('1') }],
    },
  });
  expect(code).toBe(201);
}

interface Resize {
  readonly pod?: string;
  readonly init?: string;
  readonly sidecar?: string;
  readonly container?: string;
}

async function resize({ pod = '4', init = '1', sidecar = '1', container = '1' }: Resize) {
  const { json } = await api.get(`${PODS}/p`);
  const spec = json.spec as { initContainers: object[]; containers: object[] };
  const [first, second] = spec.initContainers;
  return outcome(
    await api.put(`${PODS}/p/resize`, {
      ...json,
      spec: {
        ...spec,
        resources: amounts(pod),
        initContainers: [
          { ...first, resources: amounts(init) },
          { ...second, resources: amounts(sidecar) },
        ],
        containers: [{ ...spec.containers[0], resources: amounts(container) }],
      },
    }),
  );
}

const forbidden = (features: string) =>
  '403 Forbidden: pods "p" is forbidden: ' +
  `pod update requires features ${features} which are not available on node "n"`;

test('a node that declares nothing resizes containers and sidecars', async () => {
  await create('n');
  expect(await resize({ container: '2', sidecar: '2' })).toBe('200');
});

test.each([
  [{ pod: '5' }, POD_LEVEL],
  [{ init: '2' }, INIT_CONTAINERS],
  [{ pod: '5', init: '2', container: '2' }, `${POD_LEVEL}, ${INIT_CONTAINERS}`],
] as const)('but not %j', async (what, features) => {
  await create('n');
  expect(await resize(what)).toBe(forbidden(features));
});

test('only what the node does not declare is missing', async () => {
  await create('n', [POD_LEVEL]);
  expect(await resize({ pod: '5' })).toBe('200');
  expect(await resize({ pod: '6', init: '2' })).toBe(forbidden(INIT_CONTAINERS));
});

test('a node that declares both resizes everything', async () => {
  await create('n', [POD_LEVEL, INIT_CONTAINERS]);
  expect(await resize({ pod: '5', init: '2', sidecar: '2', container: '2' })).toBe('200');
});
