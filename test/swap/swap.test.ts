import { expect, test } from 'vitest';
import { commandOf, configurations, simulatedNode, type World } from './commands.ts';
import { swapNetwork } from './network.ts';
import { mergeSwapResults, parseSwapResults, swapsPage } from './record.ts';
import { isTestOf, makerOf, olderKubelet, parseSwaps, roles, swapName, swaps } from './roles.ts';

const world: World = {
  pki: '/pki',
  dir: '/dir',
  etcdUrl: 'http://127.0.0.1:2379',
  address: '10.0.0.2',
  node: 'worker',
  runtimeEndpoint: 'unix:///run/containerd.sock',
  network: swapNetwork(2, false),
  programs: {
    apiserver: '/bin/kube-apiserver',
    'controller-manager': '/bin/kube-controller-manager',
    scheduler: '/bin/kube-scheduler',
    kubelet: '/bin/kubelet',
    proxy: '/bin/kube-proxy',
    dns: '/bin/coredns',
  },
};

test('there are twelve swaps: one role of ours among the others, and the other way round', () => {
  expect(new Set(swaps.map(swapName)).size).toBe(12);
  for (const swap of swaps) {
    const ours = roles.filter((role) => makerOf(swap, role) === 'ours');
    expect(ours).toHaveLength(swap.maker === 'ours' ? 1 : 5);
    expect(ours.includes(swap.role)).toBe(swap.maker === 'ours');
  }
});

test('swaps are chosen by name', () => {
  expect(parseSwaps('all')).toBe(swaps);
  expect(parseSwaps('kubelet=ours,dns=upstream')).toEqual([
    { role: 'kubelet', maker: 'ours' },
    { role: 'dns', maker: 'upstream' },
  ]);
  expect(parseSwaps('kubelet=v1.34.4')).toEqual([olderKubelet]);
  expect(parseSwaps('kubelet')).toBeUndefined();
  expect(parseSwaps('')).toBeUndefined();
});

test('a command line is our program with the role, or upstream’s', () => {
  expect(commandOf('scheduler', 'upstream', world)).toEqual([
    '/bin/kube-scheduler',
    '--kubeconfig=/dir/scheduler.conf',
  ]);
  const [program, cox, role, ...flags] = commandOf('kubelet', 'ours', world);
  expect([program, role]).toEqual([process.execPath, 'kubelet']);
  expect(cox).toMatch(/bin\/cox\.js$/);
  expect(flags).toContain('--container-runtime-endpoint=unix:///run/containerd.sock');
});

test('settings that upstream’s programs read from files are written', () => {
  expect(Object.keys(configurations(world))).toEqual(['kubelet.yaml', 'Corefile']);
  const settings = configurations(world)['kubelet.yaml'];
  expect(settings).toContain('/pki/kubelet-worker.key');
  expect(settings).toContain('evictionHard: { memory.available: 100Mi, nodefs.available: 2%,');
  expect(settings).toContain('clusterDNS: [10.98.0.10]');
});

test('runs at the same time share no address and no interface', () => {
  const networks = [0, 1, 2, 3].flatMap((number) =>
    [true, false].map((simulated) => swapNetwork(number, simulated)),
  );
  const cables = networks.map(({ cable }) => cable);
  for (const field of ['name', 'namespace', 'firstAddress', 'secondAddress'] as const)
    expect(new Set(cables.map((cable) => cable[field])).size).toBe(networks.length);
  expect(new Set(networks.map(({ services }) => services)).size).toBe(4);
  expect(swapNetwork(2, false)).toMatchObject({ pods: '10.242.0.0/16', nodePods: '10.242.0.0/24' });
});

test('each test of the SIGs belongs to one role', () => {
  const names = ['[sig-auth] a', '[sig-apps] a', '[sig-node] a', '[sig-network] DNS should a'];
  const maker = 'ours';
  expect(names.map((name) => roles.filter((role) => isTestOf({ role, maker }, name)))).toEqual([
    ['apiserver'],
    ['controller-manager'],
    ['kubelet'],
    ['dns'],
  ]);
});

test('an older kubelet does not run the tests of newer ones', () => {
  const name = (version: string): string => `[sig-node] a [MinimumKubeletVersion:${version}]`;
  expect(['1.34', '1.35'].map((version) => isTestOf(olderKubelet, name(version)))).toEqual([
    true,
    false,
  ]);
  expect(isTestOf({ role: 'kubelet', maker: 'upstream' }, name('1.35'))).toBe(true);
});

test('simulated nodes have ports of their own', () => {
  const commands = [0, 1].map((index) => simulatedNode(`node-${index}`, index, world));
  expect(commands.map((command) => command.at(-1))).toEqual(['--port=10250', '--port=10251']);
  expect(commands[1]).toContain('--kubeconfig=/dir/node-1.conf');
});

test('later results replace earlier ones of the same swap', () => {
  const text = 'dns=ours\tfailed\t1.0\t[sig-network] DNS a\tno answer\n';
  const passed = 'dns=ours\tpassed\t2.0\t[sig-network] DNS a\n';
  const other = 'dns=upstream\tpassed\t2.0\t[sig-network] DNS a\n';
  const merged = mergeSwapResults(
    parseSwapResults(`# comment\n${text}${other}`),
    parseSwapResults(passed),
  );
  expect(merged.map(({ swap, outcome }) => [swap, outcome])).toEqual([
    ['dns=ours', 'passed'],
    ['dns=upstream', 'passed'],
  ]);
  const page = swapsPage(parseSwapResults(text), 'v1.36.3', []);
  expect(page).toContain('| dns | 0 passed, 1 failed, 0 skipped | not run |');
  const row = String.raw`| dns=ours | \[sig-network\] DNS a |`;
  expect(page).toContain(`${row} not looked into; it says: no answer |`);
  const causes = [{ pattern: /DNS/, cause: 'no network', mend: 'a network' }];
  expect(swapsPage(parseSwapResults(text), 'v1.36.3', causes)).toContain(`${row} no network |`);
});
