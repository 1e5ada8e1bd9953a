import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import type { Pod } from '../types.ts';
import { makeManagers } from './make-managers.ts';
import type { ResourceManagers } from './resource-managers.ts';
import { DEFAULT_RESOURCE_MANAGERS, type ResourceManagerSettings } from './settings.ts';
import { guaranteedPod } from './testing/guaranteed-pod.ts';
import { makeMachine } from './testing/make-topology.ts';

const machine = makeMachine({ sockets: 2, numaNodes: 1, cores: 2, threads: 2 });
const never = new AbortController().signal;

/** The files of a root directory, by name. */
type Files = Map<string, string>;

function make(files: Files, settings: Partial<ResourceManagerSettings> = {}): ResourceManagers {
  const fileNamed = (name: string): CheckpointFile => ({
    read: () => Promise.resolve(files.get(name)),
    write: (contents) => {
      files.set(name, contents);
      return Promise.resolve();
    },
  });
  return makeManagers({
    settings: {
      ...DEFAULT_RESOURCE_MANAGERS,
      cpuManagerPolicy: 'static',
      memoryManagerPolicy: 'Static',
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
      ...settings,
    },
    machine,
    reserved: { cpu: '1', memory: '1Gi' },
    fileNamed,
    rootDir: '/root-dir',
    clock: new VirtualClock(),
    logger: silentLogger,
  });
}

async function start(
  files: Files,
  active: readonly Pod[] | undefined,
  settings: Partial<ResourceManagerSettings> = {},
): Promise<ResourceManagers> {
  const managers = make(files, settings);
  const setCpus = (): Promise<void> => Promise.resolve();
  await managers.start({ active: () => active, running: () => [], setCpus });
  return managers;
}

const pod = guaranteedPod('one', ['2']);
const [container] = pod.spec.containers;

test('containers keep their CPUs and memory over a restart', async () => {
  const files: Files = new Map();
  const before = await start(files, [pod]);
  expect(before.admit(pod, undefined, never)).toBeUndefined();
  const placement = { cpus: '1,5', memoryNodes: '0', isExclusive: true };
  expect(before.placement(pod, container!)).toEqual(placement);
  const after = await start(files, [pod]);
  expect(after.placement(pod, container!)).toEqual(placement);
  expect(after.cpusOf(pod, container!)).toEqual([1, 5]);
  expect(after.memoryOf(pod, container!)).toEqual([
    { nodes: [0], resource: 'memory', size: 2 ** 30 },
  ]);
  // Nothing is released before it is known which pods there are.
  (await start(files, undefined)).releaseInactive();
  expect((await start(files, [pod])).placement(pod, container!)).toEqual(placement);
  const gone = await start(files, []);
  gone.releaseInactive();
  expect(gone.placement(pod, container!)).toEqual({
    cpus: '0-7',
    memoryNodes: '',
    isExclusive: false,
  });
});

test('the state of another policy is an error that names the file', async () => {
  const files: Files = new Map();
  await start(files, [], { cpuManagerPolicy: 'none' });
  await expect(start(files, [])).rejects.toThrow(
    'start cpu manager error: could not restore state from checkpoint: configured policy "static" ' +
      'differs from state checkpoint policy "none", please drain this node and delete the CPU ' +
      'manager checkpoint file "/root-dir/cpu_manager_state" before restarting Kubelet',
  );
});

test('a damaged file is an error', async () => {
  const files: Files = new Map([['memory_manager_state', '{"policyName":"Static"']]);
  await expect(start(files, [])).rejects.toThrow(
    'start memory manager error: could not restore state from checkpoint: checkpoint is corrupted',
  );
});

test('the state of another machine is an error', async () => {
  const files: Files = new Map();
  await start(files, []);
  const text = files.get('memory_manager_state') ?? '';
  // Without a checksum, as an administrator may write it.
  const other = text
    .replaceAll(String(8 * 2 ** 30), '42')
    .replace(/"checksum":\d+/, '"checksum":0');
  files.set('memory_manager_state', other);
  await expect(start(files, [])).rejects.toThrow(
    '[memorymanager] the expected machine state is different from the real one',
  );
});

test.each([
  [{ reservedMemory: [] }, 'the total amount "0" of type "memory" is not equal to the value'],
  [
    { reservedMemory: [{ numaNode: 7, limits: { memory: '1Gi' } }] },
    'references a NUMA node 7 that does not exist on this machine',
  ],
  [{ reservedSystemCPUs: '0-1' }, 'size of 0-1 did not equal 1'],
  [{ reservedSystemCPUs: '99' }, 'unknown CPU ID: 99'],
  [
    {
      cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
      cpuManagerAlphaOptions: true,
      topologyManagerPolicy: 'single-numa-node' as const,
    },
    'is incompatible with CPUManager align-by-socket',
  ],
])('the settings %j do not fit the machine', async (settings, message) => {
  await expect(start(new Map(), [], settings)).rejects.toThrow(message);
});
