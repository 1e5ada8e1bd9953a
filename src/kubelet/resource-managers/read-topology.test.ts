import { expect, test } from 'vitest';
import { readTopology, type TopologyFiles } from './read-topology.ts';

/** Returns files by path; directories are the beginnings of paths. */
function filesOf(texts: Readonly<Record<string, string>>): TopologyFiles {
  return {
    read: (path) => Promise.resolve(texts[path]),
    list: (directory) => {
      const below = Object.keys(texts).filter((path) => path.startsWith(`${directory}/`));
      const names = below.map((path) => path.slice(directory.length + 1).split('/')[0] ?? '');
      return Promise.resolve([...new Set(names)]);
    },
  };
}

const CPU = '/sys/devices/system/cpu';
const NODE = '/sys/devices/system/node';

test('cores, sockets, caches and NUMA nodes are read', async () => {
  const texts: Record<string, string> = { [`${CPU}/online`]: '0-3\n' };
  for (const cpu of [0, 1, 2, 3]) {
    texts[`${CPU}/cpu${cpu}/topology/thread_siblings_list`] = `${cpu % 2},${(cpu % 2) + 2}\n`;
    texts[`${CPU}/cpu${cpu}/topology/physical_package_id`] = `${cpu % 2}\n`;
    texts[`${CPU}/cpu${cpu}/cache/index0/level`] = '1\n';
    texts[`${CPU}/cpu${cpu}/cache/index0/id`] = `${cpu}\n`;
    texts[`${CPU}/cpu${cpu}/cache/index3/level`] = '3\n';
    texts[`${CPU}/cpu${cpu}/cache/index3/id`] = `${7 + (cpu % 2)}\n`;
  }
  for (const node of [0, 1]) {
    texts[`${NODE}/node${node}/cpulist`] = `${node},${node + 2}\n`;
    texts[`${NODE}/node${node}/meminfo`] =
      `Node ${node} MemTotal:  1024 kB\nNode 0 MemFree: 1 kB\n`;
    texts[`${NODE}/node${node}/distance`] = node === 0 ? '10 21\n' : '21 10\n';
    texts[`${NODE}/node${node}/hugepages/hugepages-2048kB/nr_hugepages`] = '3\n';
  }
  texts[`${NODE}/possible`] = '0-1\n';
  const { cpu, nodes } = await readTopology(filesOf(texts), 1);
  expect(Object.fromEntries(cpu.cpus)).toEqual({
    0: { core: 0, socket: 0, numa: 0, uncore: 7 },
    1: { core: 1, socket: 1, numa: 1, uncore: 8 },
    2: { core: 0, socket: 0, numa: 0, uncore: 7 },
    3: { core: 1, socket: 1, numa: 1, uncore: 8 },
  });
  expect([cpu.cores, cpu.sockets, cpu.uncores]).toEqual([2, 2, 2]);
  expect(nodes[1]).toEqual({
    id: 1,
    memory: 1024 * 1024,
    distances: [21, 10],
    hugePages: [{ pageSize: 2 * 2 ** 20, count: 3 }],
  });
});

test('a kernel without NUMA has one node with all memory', async () => {
  const { cpu, nodes } = await readTopology(filesOf({ [`${CPU}/online`]: '0-1' }), 4096);
  expect(nodes).toEqual([{ id: 0, memory: 4096, hugePages: [], distances: [10] }]);
  expect([...cpu.cpus.keys()]).toEqual([0, 1]);
  expect(cpu.cpus.get(1)).toEqual({ core: 1, socket: 0, numa: 0, uncore: 0 });
});

test('a list that cannot be understood is an error', async () => {
  await expect(readTopology(filesOf({ [`${CPU}/online`]: 'all' }), 1)).rejects.toThrow(
    'invalid CPU list',
  );
});
