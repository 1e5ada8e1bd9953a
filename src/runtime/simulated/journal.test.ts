import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  complete,
  type ContainerConfig,
  type Input,
  type Runtime,
  type RuntimeOutline,
} from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SimulationJournal } from './journal.ts';
import { annotationPrefix } from './annotations.ts';
import { createSimulatedRuntime } from './runtime.ts';
import { realistic } from './config.ts';

let dir: string;
let path: string;
let clock: VirtualClock;
let lives = 0;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-journal-'));
  path = join(dir, 'simulated', 'nodes.jsonl');
  clock = new VirtualClock();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(
  rewriteBytes?: number,
  readBytes?: number,
): {
  journal: SimulationJournal;
  runtimeOf: (node: string) => Runtime;
} {
  const journal = new SimulationJournal({
    path,
    logger: silentLogger,
    ...(rewriteBytes !== undefined && { rewriteBytes }),
    ...(readBytes !== undefined && { readBytes }),
  });
  const random = new SeededRandom(`life ${++lives}`);
  return {
    journal,
    runtimeOf: (node) =>
      createSimulatedRuntime({
        clock,
        random,
        podCidr: '10.1.0.0/24',
        journal: journal.node(node),
      }),
  };
}

const sandboxOf = (name: string) =>
  complete('PodSandboxConfig', {
    metadata: { name, namespace: 'n', uid: name, attempt: 0 },
    logDirectory: dir,
  });

async function run(
  { runtime }: Runtime,
  name: string,
  config: Input<'ContainerConfig'> = {},
): Promise<string> {
  const sandbox = sandboxOf(name);
  const id = await runtime.runPodSandbox(sandbox);
  const whole = complete('ContainerConfig', {
    metadata: { name: 'c' },
    image: { image: 'busybox' },
    ...config,
  }) as ContainerConfig;
  const container = await runtime.createContainer(id, whole, sandbox);
  await runtime.startContainer(container);
  return container;
}

/** Returns everything that a client can see. */
async function state({ runtime }: Runtime): Promise<unknown> {
  const sandboxes = await runtime.listPodSandbox();
  const containers = await runtime.listContainers();
  return {
    sandboxes: await Promise.all(sandboxes.map(({ id }) => runtime.podSandboxStatus(id))),
    containers: await Promise.all(containers.map(({ id }) => runtime.containerStatus(id))),
  };
}

describe('the journal of simulated containers', () => {
  test('restores containers on their nodes, with their whole visible state', async () => {
    const before = open();
    const [one, two] = [before.runtimeOf('one'), before.runtimeOf('two')];
    await run(one, 'a', {
      envs: [{ key: 'KEY', value: Buffer.from('väl\u0000ue') }],
      command: ['env'],
    });
    const resized = await run(one, 'b');
    await one.runtime.updateContainerResources(
      resized,
      complete('LinuxContainerResources', { cpuShares: 7 }),
    );
    await one.runtime.stopContainer(await run(one, 'c'), 1000);
    await run(two, 'd');
    await clock.advance(1000);
    const removed = await run(two, 'e');
    await two.runtime.removeContainer(removed);
    const seen = [await state(one), await state(two)];
    await Promise.all([one.close(), two.close()]);
    before.journal.close();

    for (let life = 0; life < 3; life++) {
      const after = open();
      const runtimes = [after.runtimeOf('one'), after.runtimeOf('two')] as const;
      expect([await state(runtimes[0]), await state(runtimes[1])]).toEqual(seen);
      const { env } = { env: (await runtimes[0].runtime.listContainers()).length };
      expect(env).toBe(3);
      // The addresses are marked as used.
      const addresses = new Set((await addressesOf(runtimes[0])).filter((ip) => ip !== ''));
      const id = await runtimes[0].runtime.runPodSandbox(sandboxOf(`new-${life}`));
      expect(addresses).not.toContain(
        (await runtimes[0].runtime.podSandboxStatus(id)).status?.network?.ip,
      );
      await runtimes[0].runtime.removePodSandbox(id);
      await Promise.all(runtimes.map((runtime) => runtime.close()));
      after.journal.close();
    }
  });

  async function addressesOf({ runtime }: Runtime): Promise<string[]> {
    const sandboxes = await runtime.listPodSandbox();
    const statuses = await Promise.all(sandboxes.map(({ id }) => runtime.podSandboxStatus(id)));
    return statuses.map(({ status }) => status?.network?.ip ?? '');
  }

  test('lets programs continue as if they had run all the time', async () => {
    const before = open();
    const node = before.runtimeOf('one');
    const forever = await run(node, 'a');
    const short = await run(node, 'b', { command: ['sh', '-c', 'sleep 10; exit 3'] });
    const loop = await run(node, 'c', {
      command: ['sh', '-c', 'while true; do echo tick; sleep 10; done'],
      logPath: 'c.log',
    });
    const long = await run(node, 'd', { command: ['sleep', '100'] });
    await clock.advance(5000);
    await node.close();
    before.journal.close();
    // The process is down for a while.
    await clock.advance(40_000);

    const after = open();
    const { runtime, close } = after.runtimeOf('one');
    await clock.advance(1);
    const stateOf = async (id: string): Promise<unknown[]> => {
      const { status } = await runtime.containerStatus(id);
      return [status?.state, status?.exitCode];
    };
    expect(await stateOf(forever)).toEqual(['CONTAINER_RUNNING', 0]);
    expect(await stateOf(short)).toEqual(['CONTAINER_EXITED', 3]);
    expect(await stateOf(loop)).toEqual(['CONTAINER_RUNNING', 0]);
    const ticks = (): number => readFileSync(join(dir, 'c.log'), 'utf8').split('tick').length - 1;
    expect(ticks()).toBe(1);
    await clock.advance(10_000);
    expect(ticks()).toBe(2);
    expect(await stateOf(long)).toEqual(['CONTAINER_RUNNING', 0]);
    await clock.advance(45_000);
    expect(await stateOf(long)).toEqual(['CONTAINER_EXITED', 0]);
    await close();
    after.journal.close();
  });

  test('contains the written records, wherever a crash has truncated it', async () => {
    const before = open();
    const node = before.runtimeOf('one');
    for (const name of ['a', 'b', 'c']) await run(node, name);
    await turn();
    // Nothing is closed, as after a kill of the process.
    const whole = readFileSync(path);
    const lines = whole.toString().split('\n').length - 1;
    for (let cut = 0; cut <= whole.length; cut += 97) {
      rmSync(path);
      appendFileSync(path, whole.subarray(0, cut));
      const complete = whole.subarray(0, cut).toString().split('\n').length - 1;
      const after = open();
      const { runtime, close } = after.runtimeOf('one');
      const found =
        (await runtime.listPodSandbox()).length + (await runtime.listContainers()).length;
      expect(found).toBeLessThanOrEqual(complete);
      if (complete === lines) expect(found).toBe(6);
      const id = await runtime.runPodSandbox(sandboxOf('later'));
      await close();
      after.journal.close();
      const last = open();
      expect((await last.runtimeOf('one').runtime.podSandboxStatus(id)).status?.id).toBe(id);
      last.journal.close();
    }
  });

  test('is rewritten when most of it is history, during use and when it is opened', async () => {
    const used = open(20_000);
    const node = used.runtimeOf('one');
    const kept = await run(node, 'kept');
    for (let i = 0; i < 100; i++) {
      await run(node, `p${i}`);
      const [sandbox] = await node.runtime
        .listPodSandbox({ labelSelector: {} })
        .then((all) => all.filter(({ metadata }) => metadata?.name === `p${i}`));
      await node.runtime.removePodSandbox(sandbox?.id ?? '');
      await turn();
      expect(statSync(path).size).toBeLessThan(30_000);
    }
    await node.close();
    used.journal.close();
    const after = open();
    expect((await after.runtimeOf('one').runtime.listContainers()).map(({ id }) => id)).toEqual([
      kept,
    ]);
    after.journal.close();
  });

  test('is read in pieces of any size', async () => {
    const before = open();
    const node = before.runtimeOf('one');
    for (const name of ['a', 'ü'.repeat(40), 'c']) await run(node, name);
    const expected = await state(node);
    await node.close();
    before.journal.close();
    for (const readBytes of [1, 7, 64, 1000]) {
      const after = open(undefined, readBytes);
      const again = after.runtimeOf('one');
      expect(await state(again)).toEqual(expected);
      await again.close();
      after.journal.close();
    }
  });

  describe('a rewrite in several turns', () => {
    const isRewriting = (): boolean => existsSync(`${path}.new`);

    /** Runs pods on several nodes until a rewrite has begun. */
    async function untilRewriting() {
      const { journal, runtimeOf } = open(600_000);
      const nodes: Runtime[] = [];
      const ids: string[] = [];
      while (!isRewriting()) {
        const node = runtimeOf(`n${nodes.length}`);
        nodes.push(node);
        for (let i = 0; i < 200; i++) {
          const id = await run(node, `p${i}`);
          if (nodes.length === 1) ids.push(id);
        }
        await turn();
      }
      const close = async (): Promise<void> => {
        for (const node of nodes) await node.close();
        journal.close();
      };
      return { nodes, ids, close };
    }

    /** Checks that the next process finds what this one had. */
    async function findsAll(expected: readonly unknown[]): Promise<void> {
      const after = open();
      for (const [i, each] of expected.entries())
        expect(await state(after.runtimeOf(`n${i}`))).toEqual(each);
      after.journal.close();
    }

    test('keeps changes that happen meanwhile', async () => {
      const { nodes, ids, close } = await untilRewriting();
      const [{ runtime }, last] = [nodes[0]!, nodes.at(-1)!];
      await runtime.stopContainer(ids[0]!, 0);
      await runtime.removeContainer(ids[1]!);
      await run(last, 'during');
      expect(isRewriting()).toBe(true);
      while (isRewriting()) await turn();
      await run(last, 'afterwards');
      await runtime.stopContainer(ids[2]!, 0);
      await runtime.removeContainer(ids[2]!);
      const expected = await Promise.all(nodes.map(state));
      await close();
      await findsAll(expected);
    });

    test('is given up when the journal is closed', async () => {
      const { nodes, close } = await untilRewriting();
      const expected = await Promise.all(nodes.map(state));
      await close();
      expect(isRewriting()).toBe(false);
      await findsAll(expected);
    });
  });

  test('is released by runtimes that can be made again, and by no others', async () => {
    const before = open();
    const names = ['one', 'two', 'three', 'a"b\\c', 'pulled'];
    const nodes = names.map((name) => before.runtimeOf(name));
    for (const node of nodes) await run(node, 'a');
    await run(nodes[1]!, 'b', { command: ['sh', '-c', 'sleep 10; exit 3'] });
    await nodes[4]!.images.pullImage({ image: 'unused' });
    const expected = await Promise.all(nodes.map(state));
    // A program runs in the second, and no record tells of an image of the last.
    expect(nodes.map((node) => node.release?.())).toEqual([true, false, true, true, false]);
    for (const name of ['one', 'three', 'a"b\\c'])
      expect(await state(before.runtimeOf(name))).toEqual(expected[names.indexOf(name)]);
    for (const node of nodes) await node.close();
    before.journal.close();

    const after = open(undefined, 1000);
    const again = names.slice(0, 4).map((name) => after.runtimeOf(name));
    const changed = await run(again[2]!, 'c');
    expect(again.map((node) => node.release?.())).toEqual([true, false, true, true]);
    const third = after.runtimeOf('three');
    await third.runtime.stopContainer(changed, 0);
    const sandboxes = await third.runtime.listPodSandbox();
    const { id } = sandboxes.find(({ metadata }) => metadata?.name === 'c')!;
    await third.runtime.removePodSandbox(id);
    expect(third.release?.()).toBe(true);
    for (const name of ['one', 'three', 'a"b\\c'])
      expect(await state(after.runtimeOf(name))).toEqual(expected[names.indexOf(name)]);
    await again[1]!.close();
    after.journal.close();
  });

  test('is rewritten with the records that are not in memory', async () => {
    const before = open();
    const names = ['one', 'two', 'three'];
    const nodes = names.map((name) => before.runtimeOf(name));
    for (const node of nodes) await run(node, 'a');
    const expected = await Promise.all(nodes.map(state));
    for (const node of nodes) await node.close();
    before.journal.close();

    // Each process rewrites it, and has one of the nodes in memory.
    for (const [i, name] of names.entries()) {
      const { journal, runtimeOf } = open(1, 1000);
      const node = runtimeOf(name);
      const { runtime } = node;
      const id = await runtime.runPodSandbox(sandboxOf(`new-${i}`));
      await turn();
      while (existsSync(`${path}.new`)) await turn();
      await runtime.removePodSandbox(id);
      for (const [at, other] of names.entries())
        if (other !== name) expect(await state(runtimeOf(other))).toEqual(expected[at]);
      await node.close();
      journal.close();
    }
    const after = open();
    expect(await Promise.all(names.map((name) => state(after.runtimeOf(name))))).toEqual(expected);
    after.journal.close();
  });

  describe('records that nothing has asked for', () => {
    const uidOf = ({ sandboxes }: RuntimeOutline): string[] => sandboxes.map(({ uid }) => uid);

    test('are known in short, until they are read', async () => {
      const before = open();
      const node = before.runtimeOf('one');
      await run(node, 'a');
      await node.runtime.stopContainer(await run(node, 'b'), 0);
      await node.runtime.removeContainer(await run(node, 'c'));
      const [sandboxes, containers, images] = [
        await node.runtime.listPodSandbox(),
        await node.runtime.listContainers(),
        await node.images.listImages(),
      ];
      await node.close();
      before.journal.close();

      const after = open();
      const again = after.runtimeOf('one');
      expect(await again.images.listImages()).toEqual(images);
      const outline = {
        sandboxes: sandboxes.map(({ id, metadata, state: at }) => ({
          id,
          uid: metadata?.uid,
          state: at,
        })),
        containers: containers.map(({ id, podSandboxId, state: at }) => ({
          id,
          podSandboxId,
          state: at,
        })),
      };
      // The first one is that of the start, later ones read the file.
      for (let i = 0; i < 2; i++) expect(again.outline?.()).toMatchObject(outline);
      expect(await again.runtime.listContainers()).toEqual(containers);
      expect(again.outline?.()).toBeUndefined();
      await again.close();
      after.journal.close();
    });

    test('are not read for pods that come and go beside them', async () => {
      const before = open();
      for (const name of ['a', 'b', 'c']) await run(before.runtimeOf('one'), name);
      before.journal.close();
      const after = open();
      const journal = after.journal.node('one');
      const read = vi.spyOn(journal, 'read');
      const again = createSimulatedRuntime({ clock, podCidr: '10.1.0.0/24', journal });
      const { runtime } = again;
      const labels = { 'io.kubernetes.pod.uid': 'new' };
      const ofPod = { labelSelector: labels };
      const sandbox = complete('PodSandboxConfig', {
        metadata: { name: 'new', namespace: 'n', uid: 'new', attempt: 0 },
        labels,
      });
      const life = async () => {
        expect(await runtime.listPodSandbox(ofPod)).toEqual([]);
        const id = await runtime.runPodSandbox(sandbox);
        const config = complete('ContainerConfig', {
          metadata: { name: 'c' },
          image: { image: 'busybox' },
          labels,
        }) as ContainerConfig;
        const container = await runtime.createContainer(id, config, sandbox);
        await runtime.startContainer(container);
        expect(await runtime.listContainers(ofPod)).toMatchObject([{ id: container }]);
        expect(again.outline?.()).toMatchObject({ sandboxes: { length: 4 } });
        return [id, container] as const;
      };
      const [id, container] = await life();
      await runtime.stopPodSandbox(id);
      for (let i = 0; i < 2; i++) await runtime.removePodSandbox(id);
      for (let i = 0; i < 2; i++) await runtime.removeContainer(container);
      await life();
      expect(read).not.toHaveBeenCalled();
      const all = await addressesOf(again);
      expect(read).toHaveBeenCalledTimes(1);
      expect(new Set(all).size).toBe(4);
      // A pod that was there before is found by its labels, too.
      const third = createSimulatedRuntime({ clock, podCidr: '10.1.0.0/24', journal });
      expect(await third.runtime.listPodSandbox(ofPod)).toMatchObject([{ labels }]);
      after.journal.close();
    });

    test.each<readonly [string, Input<'ContainerConfig'>]>([
      ['a command', { command: ['sleep', '10'] }],
      ['arguments', { args: ['x'] }],
      ['an annotation', { annotations: { [`${annotationPrefix}run-duration`]: '10s' } }],
      ['an image with a default command', { image: { image: 'docker.io/library/busybox:1.36' } }],
    ])('are read at once if a container has %s', async (_, config) => {
      const before = open();
      const node = before.runtimeOf('one');
      await run(node, 'a', { image: { image: 'registry.k8s.io/pause:3.10' } });
      await run(node, 'b', { image: { image: 'registry.k8s.io/pause:3.10' }, ...config });
      await node.close();
      before.journal.close();
      const after = open();
      const journal = after.journal.node('one');
      const options = { clock, podCidr: '10.1.0.0/24', ...realistic };
      const again = createSimulatedRuntime({ ...options, journal });
      expect(again.outline?.()).toBeUndefined();
      await again.close();
      after.journal.close();
    });

    test('do not make a new sandbox use their addresses, also in another range', async () => {
      const before = open();
      const node = before.runtimeOf('one');
      await run(node, 'a');
      await node.close();
      before.journal.close();
      const after = open();
      const again = after.runtimeOf('one');
      await again.runtime.updateRuntimeConfig({ networkConfig: { podCidr: '10.1.0.0/25' } });
      await again.runtime.runPodSandbox(sandboxOf('b'));
      const addresses = await addressesOf(again);
      expect(new Set(addresses).size).toBe(2);
      await again.close();
      after.journal.close();
    });

    test('survive rewrites, in which lines of removed records are dropped', async () => {
      const before = open();
      const nodes = ['idle', 'busy', 'other'].map((name) => before.runtimeOf(name));
      for (const node of nodes) {
        await node.runtime.removeContainer(await run(node, 'removed'));
        for (let i = 0; i < 20; i++) await run(node, `p${i}`);
      }
      const expected = await Promise.all(nodes.map(state));
      for (const node of nodes) await node.close();
      before.journal.close();

      const used = open(20_000);
      const [, busy] = ['idle', 'busy', 'other'].map((name) => used.runtimeOf(name));
      const size = statSync(path).size;
      for (let i = 0; i < 200 && statSync(path).size >= size; i++) {
        const container = await run(busy!, `more${i}`);
        const { status } = await busy!.runtime.containerStatus(container);
        const all = await busy!.runtime.listContainers({ id: status?.id ?? '' });
        await busy!.runtime.removePodSandbox(all[0]?.podSandboxId ?? '');
        await turn();
      }
      expect(statSync(path).size).toBeLessThan(size);
      // One of these is read from the new file, the other one by the next process.
      expect(await state(used.runtimeOf('idle'))).toEqual(expected[0]);
      await busy!.close();
      used.journal.close();
      const after = open();
      expect(await state(after.runtimeOf('other'))).toEqual(expected[2]);
      expect(await state(after.runtimeOf('idle'))).toEqual(expected[0]);
      after.journal.close();
    });

    test('can be read after a failed write', async () => {
      const before = open();
      const [one, two] = [before.runtimeOf('one'), before.runtimeOf('two')];
      await run(one, 'a');
      await run(two, 'b');
      const expected = await state(one);
      for (const node of [one, two]) await node.close();
      before.journal.close();
      const after = open(1);
      rmSync(dir, { recursive: true });
      await run(after.runtimeOf('two'), 'c');
      await turn();
      await turn();
      expect(await state(after.runtimeOf('one'))).toEqual(expected);
      after.journal.close();
    });

    test('may have another form', async () => {
      const before = open();
      const node = before.runtimeOf('nöde');
      await run(node, 'a', { image: { image: 'i', annotations: { a: 'b' } } });
      const expected = await state(node);
      await node.close();
      before.journal.close();
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      const spaced = lines.map((line) =>
        JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ''),
      );
      rmSync(path);
      appendFileSync(path, `${spaced.join('\n')}\n"x"\n[]\n\n{}\n["changed"]\n`);
      const after = open();
      const again = after.runtimeOf('nöde');
      expect(uidOf(again.outline!()!)).toEqual(['a']);
      expect(await state(again)).toEqual(expected);
      await again.close();
      after.journal.close();
    });
  });

  test('is abandoned after a failed write, and the next run begins without containers', async () => {
    const before = open();
    const node = before.runtimeOf('one');
    await run(node, 'a');
    await turn();
    rmSync(dir, { recursive: true });
    // The file is gone: later and earlier content is lost.
    const id = await run(node, 'b');
    expect((await node.runtime.containerStatus(id)).status?.state).toBe('CONTAINER_RUNNING');
    await node.close();
    before.journal.close();
    const after = open();
    expect(await after.runtimeOf('one').runtime.listContainers()).toEqual([]);
    after.journal.close();
  });
});
