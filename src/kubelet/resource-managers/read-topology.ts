// Reads the topology of this machine from /sys.

import { parseCpuSet } from './cpu-set.ts';
import {
  type CpuInfo,
  cpuTopology,
  type HugePages,
  type MachineTopology,
  type NumaNode,
} from './machine-topology.ts';

/** Files of the machine. A fake is a map of texts. */
export interface TopologyFiles {
  /** Returns the contents; undefined if there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** Returns the names in a directory; none if it does not exist. */
  list(path: string): Promise<readonly string[]>;
}

const CPUS = '/sys/devices/system/cpu';
const NODES = '/sys/devices/system/node';

/** Rejects with a CpuSetError if a file of the kernel is not understood. */
export async function readTopology(
  files: TopologyFiles,
  totalMemory: number,
): Promise<MachineTopology> {
  const online = parseCpuSet((await files.read(`${CPUS}/online`))?.trim() ?? '0');
  const ids = (await files.list(NODES)).flatMap((name) => {
    const id = /^node(\d+)$/.exec(name)?.[1];
    return id === undefined ? [] : [Number(id)];
  });
  const nodes = await Promise.all(ids.toSorted((a, b) => a - b).map((id) => readNode(files, id)));
  const nodeOf = new Map<number, number>();
  for (const { node, cpus } of nodes) for (const cpu of cpus) nodeOf.set(cpu, node.id);
  const infos = new Map<number, CpuInfo>();
  for (const cpu of online) infos.set(cpu, await readCpu(files, cpu, nodeOf.get(cpu) ?? 0));
  return {
    cpu: cpuTopology(infos),
    // A kernel without NUMA has one node.
    nodes:
      nodes.length === 0
        ? [{ id: 0, memory: totalMemory, hugePages: [], distances: [10] }]
        : nodes.map(({ node }) => node),
  };
}

async function readCpu(files: TopologyFiles, cpu: number, numa: number): Promise<CpuInfo> {
  const directory = `${CPUS}/cpu${cpu}`;
  const [siblings, socketText, caches] = await Promise.all([
    files.read(`${directory}/topology/thread_siblings_list`),
    files.read(`${directory}/topology/physical_package_id`),
    files.list(`${directory}/cache`),
  ]);
  const core = Math.min(cpu, ...parseCpuSet(siblings?.trim() ?? String(cpu)));
  // Virtual machines without a package have -1.
  const socket = Math.max(0, numberOf(socketText) ?? 0);
  return { core, socket, numa, uncore: (await lastCache(files, directory, caches)) ?? socket };
}

/** Returns the id of the cache of level 3; undefined if there is none. */
async function lastCache(
  files: TopologyFiles,
  directory: string,
  caches: readonly string[],
): Promise<number | undefined> {
  for (const name of caches) {
    if (!/^index\d+$/.test(name)) continue;
    const [level, id] = await Promise.all([
      files.read(`${directory}/cache/${name}/level`),
      files.read(`${directory}/cache/${name}/id`),
    ]);
    if (numberOf(level) === 3) return numberOf(id);
  }
  return undefined;
}

async function readNode(
  files: TopologyFiles,
  id: number,
): Promise<{ readonly node: NumaNode; readonly cpus: ReadonlySet<number> }> {
  const directory = `${NODES}/node${id}`;
  const [cpus, memory, distances, sizes] = await Promise.all([
    files.read(`${directory}/cpulist`),
    files.read(`${directory}/meminfo`),
    files.read(`${directory}/distance`),
    files.list(`${directory}/hugepages`),
  ]);
  const hugePages: HugePages[] = [];
  for (const name of sizes) {
    const kilobytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    if (kilobytes === undefined) continue;
    const count = numberOf(await files.read(`${directory}/hugepages/${name}/nr_hugepages`)) ?? 0;
    hugePages.push({ pageSize: Number(kilobytes) * 1024, count });
  }
  const node = {
    id,
    memory: Number(/MemTotal:\s+(\d+) kB/.exec(memory ?? '')?.[1] ?? 0) * 1024,
    distances: (distances ?? '').trim().split(/\s+/).filter(Boolean).map(Number),
    hugePages: hugePages.toSorted((a, b) => a.pageSize - b.pageSize),
  };
  return { node, cpus: parseCpuSet(cpus?.trim() ?? '') };
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text?.trim());
  return text === undefined || text.trim() === '' || !Number.isInteger(value) ? undefined : value;
}
